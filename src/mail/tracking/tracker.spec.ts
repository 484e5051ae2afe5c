import type { AppConfig } from '../../platform/config/app-config.ts';
import { WorkLimitError } from '../../platform/threads/work-errors.ts';
import { WorkThreads } from '../../platform/threads/work-threads.ts';
import { MOST_REPLACEMENTS } from './track-html.ts';
import { MOST_AT_ONCE, Tracker } from './tracker.ts';
import { TrackingTokens } from './tracking-tokens.ts';

const KEY = { id: 'a', key: Buffer.alloc(32, 1) };
const MESSAGE = '019aa1b2-0000-7000-8000-000000000001';

describe('Tracker', () => {
  const threads = new WorkThreads();
  const config = { baseUrl: 'https://mail.test/base' } as AppConfig;
  const tracker = new Tracker(config, new TrackingTokens([KEY]), threads);
  afterAll(() => threads.close());
  const message = (html: string) => {
    return {
      accountId: MESSAGE,
      messageId: MESSAGE,
      messageIdHeader: '<1@mail.test>',
      sendAt: new Date(0),
      html,
    };
  };
  const sent = async (html: string) =>
    (await tracker.prepare(message(html), { opens: true, links: true })).html;

  it('restores the text that was written, and leaves links that it did not sign unchanged', async () => {
    const html =
      '<p>http://<a href="https://a.test/?b=1&amp;c=2">x</a> <a href=\'http://d.test/\'>y</a></p>https://f.test/t/c?l=abc';
    const leaves = await sent(html);
    expect(leaves).not.toContain('d.test');
    expect(tracker.withoutMarks(leaves)).toBe(html);
    // When the message is forwarded, no link leads through another.
    expect((await sent(leaves.replace(/<img.*?>/, ''))).length).toBe(leaves.length);
  });

  it('takes no longer for a text made only of beginnings of addresses', async () => {
    const hostile = `${'http://'.repeat(100_000)}/t/c?l=abc`;
    expect(tracker.withoutMarks(hostile)).toBe(hostile);
    expect(await sent(hostile)).toContain(hostile);
  });

  it('marks long HTML in a thread in the same way as short HTML', async () => {
    const links = '<p>ü <a href="https://a.test/?b=1&amp;c=2">x</a></p>'.repeat(20);
    const long = `${links}<p>${' '.repeat(MOST_AT_ONCE)}</p>`;
    const [short, marked] = [await sent(links), await sent(long)];
    expect(marked.slice(0, marked.indexOf(' '.repeat(99)))).toBe(
      `${short.slice(0, short.indexOf('<img'))}<p>`,
    );
    expect(tracker.withoutMarks(marked)).toBe(long);
  });

  it('marks thousands of open elements and end tags of other elements within the time of a thread', async () => {
    const hostile = '<select>'.repeat(60_000) + '</template>'.repeat(45_000);
    expect(await sent(hostile)).toContain(hostile);
  });

  it('checks no more foreign links than a message of ours can have', () => {
    let checked = 0;
    class CountedTokens extends TrackingTokens {
      override readLink(token: string): ReturnType<TrackingTokens['readLink']> {
        checked += 1;
        return super.readLink(token);
      }
    }
    const counting = new Tracker(config, new CountedTokens([KEY]), threads);
    const hostile = '<a href="http://a.test/t/c?l=a">'.repeat(50_000);
    expect(counting.withoutMarks(hostile)).toBe(hostile);
    expect(checked).toBe(MOST_REPLACEMENTS);
  });

  it('refuses to track HTML that exceeds a limit, and names the field', async () => {
    const full = {
      run: () => Promise.reject(new WorkLimitError('time')),
    } as unknown as WorkThreads;
    const limited = new Tracker(config, new TrackingTokens([KEY]), full);
    await expect(
      limited.prepare(message('x'.repeat(MOST_AT_ONCE + 1)), { opens: true }),
    ).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('body: the HTML takes too much time'),
    });
  });
});
