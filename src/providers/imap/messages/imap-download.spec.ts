import { describe, expect, it } from '@jest/globals';
import type { FetchMessageObject, ImapFlow } from 'imapflow';
import { decodedSection, PIECE_BYTES } from './imap-download.ts';

type Answer = Pick<FetchMessageObject, 'seq'> & Partial<FetchMessageObject>;

/** A client whose FETCH commands get these answers, one list for each command. */
function clientOf(...answers: readonly Answer[][]): ImapFlow {
  const left = [...answers];
  const fetch = () => left.shift() ?? [];
  return { fetch } as unknown as ImapFlow;
}

const piece = (bytes: Buffer | null, uid = 7): Answer => {
  // The library's value for NIL is not in its types.
  const bodyParts = new Map([['2', bytes as Buffer]]);
  return { seq: 1, uid, bodyParts };
};
const FULL = Buffer.alloc(PIECE_BYTES, 'a');
const REST = Buffer.from('rest');
const FLAGS: Answer = { seq: 3, flags: new Set(['\\Seen']) };

async function downloaded(client: ImapFlow): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const bytes of decodedSection(client, 7, '2', '8bit')) pieces.push(bytes);
  return Buffer.concat(pieces);
}

describe('the download of a section', () => {
  it.each([
    ['ends after a short piece', [[piece(FULL)], [piece(REST)]]],
    ['ignores flags that the server reports', [[piece(FULL)], [FLAGS, piece(REST), FLAGS]]],
    ['ignores flags of the same message', [[piece(FULL)], [{ ...FLAGS, uid: 7 }, piece(REST)]]],
    ['ignores other messages', [[piece(REST, 8), piece(FULL)], [piece(REST)]]],
  ])('%s', async (_, answers) => {
    const bytes = await downloaded(clientOf(...answers));
    expect(bytes.equals(Buffer.concat([FULL, REST]))).toBe(true);
  });

  it.each([
    ['an empty piece', Buffer.alloc(0)],
    ['NIL', null],
  ])('ends at %s', async (_, end) => {
    const bytes = await downloaded(clientOf([piece(FULL)], [piece(end)]));
    expect(bytes.length).toBe(PIECE_BYTES);
  });

  it.each([
    ['nothing', []],
    ['flags alone', [FLAGS]],
    ['another section', [{ seq: 1, uid: 7, bodyParts: new Map([['1', REST]]) }]],
  ])('fails if the server answers with %s before the end', async (_, answer) => {
    await expect(downloaded(clientOf([piece(FULL)], answer))).rejects.toMatchObject({
      code: 'not-found',
    });
  });
});
