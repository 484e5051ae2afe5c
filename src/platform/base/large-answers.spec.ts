import { PassThrough } from 'node:stream';
import {
  ClientGoneError,
  duringAnswer,
  keepSmall,
  largeAnswer,
  mayBeLarge,
} from './large-answers.ts';

const MB = 1024 * 1024;

/** A request that asks for room. @returns its answer, whether it reads its page, and what came of that */
function ask(bytes: number, read: () => Promise<unknown> = () => Promise.resolve()) {
  const to = new PassThrough();
  const asked = { to, entered: false, error: undefined as unknown };
  duringAnswer(to, () => {
    largeAnswer(bytes, () => {
      asked.entered = true;
      return read();
    }).catch((error: unknown) => (asked.error = error));
  });
  return asked;
}
const turn = () => new Promise((done) => setImmediate(done));

describe('largeAnswer', () => {
  it('lets answers have 64 MB together, and others wait until one was received or its client has gone', async () => {
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

  it('reads nothing for a client that has gone while it waited', async () => {
    const [first, second] = [ask(64 * MB), ask(64 * MB)];
    await turn();
    second.to.destroy();
    first.to.destroy();
    await turn();
    expect(second.entered).toBe(false);
    expect(second.error).toBeInstanceOf(ClientGoneError);
  });

  it('keeps the room for as long as a page is being read, also when its client has gone', async () => {
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

  it('gives the room back when a page cannot be read', async () => {
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

  it('waits for nobody outside of a request, or twice in one', async () => {
    const to = new PassThrough();
    let passed = 0;
    const pass = () => Promise.resolve((passed += 1));
    duringAnswer(to, () => {
      void largeAnswer(64 * MB, () => Promise.resolve()).then(() => largeAnswer(64 * MB, pass));
    });
    void largeAnswer(64 * MB, pass);
    await turn();
    expect(passed).toBe(2);
    to.destroy();
  });
});

describe('mayBeLarge', () => {
  it('is false only in requests whose answers have to stay small', () => {
    const [small, other] = [new PassThrough(), new PassThrough()];
    keepSmall(small);
    const seen: boolean[] = [mayBeLarge()];
    for (const to of [small, other]) duringAnswer(to, () => seen.push(mayBeLarge()));
    expect(seen).toEqual([true, false, true]);
  });
});
