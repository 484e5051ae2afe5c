import { mediaType } from './file-record.ts';
import { contentDisposition } from './files.mapper.ts';

describe('contentDisposition', () => {
  it.each([
    ['menu.txt', 'attachment; filename="menu.txt"'],
    ['', 'attachment; filename="attachment"'],
    ['Grüße.pdf', `attachment; filename="Gr__e.pdf"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.pdf`],
    ['a"b.txt', `attachment; filename="a_b.txt"; filename*=UTF-8''a%22b.txt`],
    ["it's (1).txt", `attachment; filename="it's (1).txt"`],
    ['../../etc/passwd', 'attachment; filename=".._.._etc_passwd"'],
    ['x\r\nSet-Cookie: a', 'attachment; filename="x__Set-Cookie: a"'],
    ['50%.txt', `attachment; filename="50_.txt"; filename*=UTF-8''50%25.txt`],
  ])('is a safe header for the file name %j', (filename, header) =>
    expect(contentDisposition({ filename })).toBe(header),
  );
});

describe('mediaType', () => {
  it.each([
    ['Text/Plain', 'text/plain'],
    ['text/plain; charset=x', 'application/octet-stream'],
    ['a\r\nb', 'application/octet-stream'],
    ['', 'application/octet-stream'],
  ])('turns the content type %j into %s', (contentType, type) =>
    expect(mediaType({ contentType })).toBe(type),
  );
});
