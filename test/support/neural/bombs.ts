import { crc32, deflateSync } from 'node:zlib';

function chunk(type: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** A white PNG image with 8 bits for each of red, green and blue (W3C PNG, third edition). */
export function whitePng(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const line = Buffer.alloc(1 + width * 3, 0xff);
  line[0] = 0;
  const pixels = deflateSync(Buffer.alloc(height * line.length, line), { level: 9 });
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/**
 * A PDF file whose only page is a stream of spaces.
 * @param times how often the spaces are compressed. Some readers look only at the first time.
 */
export function spacesPdf(bytes: number, times = 1): Buffer {
  let content: Uint8Array = Buffer.alloc(bytes, ' ');
  for (let time = 0; time < times; time += 1) content = deflateSync(content, { level: 9 });
  const filters = '/FlateDecode'.repeat(times);
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R>>',
    `<</Filter[${filters}]/Length ${content.length}>>stream\n${Buffer.from(content).toString('latin1')}\nendstream`,
  ];
  const body = objects.map((object, index) => `${index + 1} 0 obj${object}\nendobj\n`).join('');
  return Buffer.from(`%PDF-1.4\n${body}trailer<</Root 1 0 R/Size 5>>\n%%EOF`, 'latin1');
}
