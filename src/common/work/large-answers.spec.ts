import { PassThrough } from 'node:stream';
import { duringAnswer, largeAnswer } from './large-answers.ts';

const MB = 1024 * 1024;

/** A request that asks for room. @returns its answer, and whether it has got the room */
function ask(bytes: number) {
  const to = new PassThrough();
  const asked = { to, entered: false };
  duringAnswer(to, () => {
    void largeAnswer(bytes).then(() => (asked.entered = true));
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

  it('waits for nobody outside of a request, or twice in one', async () => {
    const to = new PassThrough();
    let passed = 0;
    duringAnswer(to, () => {
      void largeAnswer(64 * MB)
        .then(() => largeAnswer(64 * MB))
        .then(() => (passed += 1));
    });
    void largeAnswer(64 * MB).then(() => (passed += 1));
    await turn();
    expect(passed).toBe(2);
    to.destroy();
  });
});
