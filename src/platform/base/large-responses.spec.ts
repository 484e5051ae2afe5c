import { PassThrough } from 'node:stream';
import {
  ClientDisconnectedError,
  duringResponse,
  keepSmall,
  largeResponse,
  mayBeLarge,
} from './large-responses.ts';

const MB = 1024 * 1024;

/**
 * Starts a request that needs memory for a large page.
 * @returns its response, whether it began to read its page, and its error
 */
function ask(bytes: number, read: () => Promise<unknown> = () => Promise.resolve()) {
  const to = new PassThrough();
  const asked = { to, entered: false, error: undefined as unknown };
  duringResponse(to, () => {
    largeResponse(bytes, () => {
      asked.entered = true;
      return read();
    }).catch((error: unknown) => (asked.error = error));
  });
  return asked;
}
const turn = () => new Promise((done) => setImmediate(done));

describe('largeResponse', () => {
  it('reads at most 64 MB for all responses together, and the next one when a response was received or its client has disconnected', async () => {
    const [first, second, third] = [ask(40 * MB), ask(20 * MB), ask(30 * MB)];
    await turn();
    expect([first.entered, second.entered, third.entered]).toEqual([true, true, false]);
    first.to.destroy();
    await turn();
    expect(third.entered).toBe(true);
    second.to.destroy();
    third.to.destroy();
    await turn();
  });

  it('reads nothing for a client that disconnected while it waited', async () => {
    const [first, second] = [ask(64 * MB), ask(64 * MB)];
    await turn();
    second.to.destroy();
    first.to.destroy();
    await turn();
    expect(second.entered).toBe(false);
    expect(second.error).toBeInstanceOf(ClientDisconnectedError);
  });

  it('keeps the memory reserved while a page is being read, even if its client has disconnected', async () => {
    const reading = Promise.withResolvers<void>();
    const first = ask(64 * MB, () => reading.promise);
    const second = ask(64 * MB);
    await turn();
    first.to.destroy();
    await turn();
    expect(second.entered).toBe(false);
    reading.resolve();
    await turn();
    expect(second.entered).toBe(true);
    second.to.destroy();
    await turn();
  });

  it('frees the memory if a page cannot be read', async () => {
    const trouble = new Error('the database is away');
    const first = ask(64 * MB, () => Promise.reject(trouble));
    const second = ask(64 * MB);
    await turn();
    expect(first.error).toBe(trouble);
    expect(second.entered).toBe(true);
    first.to.destroy();
    second.to.destroy();
    await turn();
  });

  it('waits neither outside a request nor for the second large page of a request', async () => {
    const to = new PassThrough();
    let passed = 0;
    const pass = () => Promise.resolve((passed += 1));
    duringResponse(to, () => {
      void largeResponse(64 * MB, () => Promise.resolve()).then(() => largeResponse(64 * MB, pass));
    });
    void largeResponse(64 * MB, pass);
    await turn();
    expect(passed).toBe(2);
    to.destroy();
  });
});

describe('mayBeLarge', () => {
  it('mayBeLarge is false only in requests whose responses have to stay small', () => {
    const [small, other] = [new PassThrough(), new PassThrough()];
    keepSmall(small);
    const seen: boolean[] = [mayBeLarge()];
    for (const to of [small, other]) duringResponse(to, () => seen.push(mayBeLarge()));
    expect(seen).toEqual([true, false, true]);
  });
});
