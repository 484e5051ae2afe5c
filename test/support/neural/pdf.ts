import fs from 'node:fs';

/** An image of three lines of text, 520 × 150. */
export const SCAN_PNG = fs.readFileSync(new URL('./scan.png', import.meta.url));
const SCAN_JPEG = fs.readFileSync(new URL('./scan.jpg', import.meta.url));

/** What is to be read in it. */
export const SCAN_TEXT = 'Invoice 4711\nTotal due: 120.50 EUR\nThank you for your order';

/** A PDF file of a scanned page and pages with a text layer. */
export function pdfOf(texts: readonly string[]): Buffer {
  const first = 6;
  const pages = [3, ...texts.map((_, index) => first + 2 * index)];
  const box = '/Type/Page/Parent 2 0 R/MediaBox[0 0 520 150]';
  const stream = (dictionary: string, content: string) =>
    `<<${dictionary}/Length ${content.length}>>stream\n${content}\nendstream`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${pages.map((page) => `${page} 0 R`).join(' ')}]/Count ${pages.length}>>`,
    `<<${box}/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>`,
    stream('', 'q 520 0 0 150 0 0 cm /I Do Q'),
    stream(
      '/Type/XObject/Subtype/Image/Width 520/Height 150/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode',
      SCAN_JPEG.toString('latin1'),
    ),
    ...texts.flatMap((text, index) => [
      `<<${box}/Contents ${first + 2 * index + 1} 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>`,
      stream('', `BT /F 12 Tf 20 100 Td (${text}) Tj ET`),
    ]),
  ];
  const body = objects.map((object, index) => `${index + 1} 0 obj${object}\nendobj\n`).join('');
  return Buffer.from(
    `%PDF-1.4\n${body}trailer<</Root 1 0 R/Size ${objects.length + 1}>>\n%%EOF`,
    'latin1',
  );
}
