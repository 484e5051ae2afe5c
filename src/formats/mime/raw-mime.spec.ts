import { prepareRaw } from './raw-mime.ts';

const defaults = {
  from: { name: 'Ädä', email: 'a@b.test' },
  messageIdHeader: '<made@here.test>',
  date: new Date('2026-01-02T03:04:05Z'),
};
const prepared = (text: string) => {
  const { mime, messageIdHeader } = prepareRaw(Buffer.from(text), defaults);
  return { text: mime.toString(), messageIdHeader };
};
const whole = 'From: a@b.test\r\nDate: x\r\nMessage-ID: <own@there.test>\r\n';

describe('a raw message', () => {
  it('stays unchanged if it is complete', () => {
    const text = `${whole}Subject: Gr\u00fc\u00dfe\r\n folded\r\n\r\nBcc: is text here\r\n`;
    expect(prepared(text)).toEqual({ text, messageIdHeader: '<own@there.test>' });
  });

  it('gets missing header fields', () => {
    expect(prepared('To: b@b.test\n\nHi').text).toBe(
      'Message-ID: <made@here.test>\r\nFrom: =?UTF-8?B?w4Rkw6Q=?= <a@b.test>\r\n' +
        'Date: Fri, 02 Jan 2026 03:04:05 +0000\r\nTo: b@b.test\r\n\r\nHi',
    );
  });

  it.each([
    'Bcc: x@y.test',
    'bcc : x@y.test,\r\n\ty@y.test',
    'BCC:\r\n x@y.test',
    'Resent-Bcc: x@y.test',
  ])('loses the header %j', (line) =>
    expect(prepared(`${whole}${line}\r\nTo: b@b.test\r\n\r\nHi`).text).toBe(
      `${whole}To: b@b.test\r\n\r\nHi`,
    ),
  );

  it.each([
    'Message-ID: <a@b.test> <c@d.test>',
    'Message-ID: a@b.test',
    'Message-ID: <a@b.test>\r\nMessage-ID: <c@d.test>',
    `Message-ID: <${'a'.repeat(600)}@b.test>`,
    'Message-ID: <gr\u00fc\u00dfe@b.test>',
    'Message-ID:',
  ])('gets a new Message-ID for an invalid one: %j', (line) => {
    const { text, messageIdHeader } = prepared(`${line}\r\nFrom: a@b.test\r\nDate: x\r\n\r\n`);
    expect([text, messageIdHeader]).toEqual([
      'Message-ID: <made@here.test>\r\nFrom: a@b.test\r\nDate: x\r\n\r\n',
      null,
    ]);
  });

  it('loses the mbox line, and may have an empty body', () => {
    expect(prepared(`From ada Fri Jan  2\n${whole}To: b@b.test`).text).toBe(
      `${whole}To: b@b.test\r\n\r\n`,
    );
  });

  it.each([
    '',
    '\r\n\r\ntext',
    'no header at all',
    'To: b@b.test\r\nnot a field\r\n\r\nHi',
    ' folded first',
  ])('is refused as invalid: %j', (text) =>
    expect(() => prepared(text)).toThrow('is not a valid message'),
  );

  it.each([
    'From: a@b.test, eve@c.test',
    'From: a@b.test\r\nFrom: eve@c.test',
    'From: Friends: eve@c.test;',
    'From: eve',
    'From:',
  ])('must be from its account alone: %j', (from) =>
    expect(() => prepared(`${from}\r\nTo: b@b.test\r\n\r\nHi`)).toThrow(
      'From: must be the address',
    ),
  );

  it('must have a header of limited size', () => {
    const header = 'X: b\r\n'.repeat(200_000);
    expect(() => prepared(`${header}\r\nHi`)).toThrow('header is larger than 1 MB');
    expect(prepared(`${whole}To: b@b.test\r\n\r\n${header}`).text).toContain(header);
  });
});
