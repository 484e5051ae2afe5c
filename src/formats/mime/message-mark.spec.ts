import { MARK_HEADER, markDigest, markIn, markOfKind } from './message-mark.ts';

const ID = '01a220c2-ef90-7179-a25f-e4f6126894d8';
const OURS = `<${ID}@mail.example>`;
const CHOSEN = '<chosen@sender.example>';

describe('a mark', () => {
  it.each([
    ['on one line', ': '],
    ['on the line after its name', ':\r\n '],
    ['after an empty continuation', ': \n\t'],
  ])('is read %s', (_, between) => {
    const headers = (mark: string) => `Subject: x\r\n${MARK_HEADER}${between}${mark}\r\nTo: y\r\n`;
    expect(markIn(headers(markOfKind('send', OURS)))).toEqual({
      id: ID,
      digest: markDigest(OURS),
    });
    expect(markIn(headers(markOfKind('draft', CHOSEN)))).toEqual({
      id: null,
      digest: markDigest(CHOSEN),
    });
  });

  it('is not read from another field, or from a value of another form', () => {
    const mark = markOfKind('send', OURS);
    expect(markIn(`Subject: ${MARK_HEADER}: ${mark}\r\n`)).toBeNull();
    expect(markIn(`${MARK_HEADER}: ${mark} and more\r\n`)).toBeNull();
    expect(markIn(`${MARK_HEADER}:\r\nTo: ${mark}\r\n`)).toBeNull();
  });
});
