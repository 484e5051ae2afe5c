import type { AppConfig } from '../config/app-config.ts';
import { Tracker } from './tracker.ts';
import { TrackingTokens } from './tracking-tokens.ts';

const KEY = { id: 'a', key: Buffer.alloc(32, 1) };
const MESSAGE = '019aa1b2-0000-7000-8000-000000000001';

describe('Tracker', () => {
  const tracker = new Tracker({ baseUrl: 'https://mail.test/base' } as AppConfig, new TrackingTokens([KEY]));
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

  it('shows what was written, and what others have signed as it is', async () => {
    const html =
      '<p>http://<a href="https://a.test/?b=1&amp;c=2">x</a> <a href=\'http://d.test/\'>y</a></p>https://f.test/t/c?l=abc';
    const leaves = await sent(html);
    expect(leaves).not.toContain('d.test');
    expect(tracker.withoutMarks(leaves)).toBe(html);
    // Forwarded, no link leads through another.
    expect((await sent(leaves.replace(/<img.*?>/, ''))).length).toBe(leaves.length);
  });

  it('takes no longer for a text of nothing but beginnings of addresses', async () => {
    const hostile = `${'http://'.repeat(100_000)}/t/c?l=abc`;
    expect(tracker.withoutMarks(hostile)).toBe(hostile);
    expect(await sent(hostile)).toContain(hostile);
  });
});
