import { Chains, type ObjectKind, type Shown, type Step } from './chain-account.ts';
import { describeMessageChains } from './message-chains.ts';
import type { WriteSide } from './write-side.ts';

const TOMORROW = Math.floor(Date.now() / 1000) + 86_400;

const KINDS: readonly ObjectKind[] = [
  {
    kind: 'drafts',
    resource: 'mail',
    path: () => '/drafts',
    fields: (subject, { side }) => ({
      subject,
      body: `<p>${subject}</p>`,
      to: [{ email: side.correspondent }],
    }),
    title: ({ subject }) => subject,
  },
  {
    kind: 'folders',
    resource: 'mail',
    path: ({ unit }) => `/${unit}s`,
    fields: (display_name) => ({ display_name }),
    title: ({ display_name }) => display_name,
  },
  {
    kind: 'calendars',
    resource: 'calendars',
    path: () => '/calendars',
    fields: (name) => ({ name }),
    title: ({ name }) => name,
  },
  {
    kind: 'events',
    resource: 'calendars',
    path: () => '/events',
    fields: (title, { calendarId }) => ({
      title,
      calendar_id: calendarId,
      when: { start_time: TOMORROW, end_time: TOMORROW + 3600 },
    }),
    title: ({ title }) => title,
  },
  {
    kind: 'contacts',
    resource: 'contacts',
    path: () => '/contacts?source=address_book',
    fields: (given_name) => ({ given_name }),
    title: ({ given_name }) => given_name,
  },
];

/** `given`: the object is at the provider before the chain begins, with the title `v0`. */
const CHAINS: readonly { given: boolean; steps: readonly Step[] }[] = [
  { given: false, steps: ['create', 'update', 'update'] },
  { given: false, steps: ['create', 'update', 'delete'] },
  { given: false, steps: ['create', 'delete'] },
  { given: true, steps: ['update', 'update', 'update'] },
  { given: true, steps: ['update', 'update', 'delete'] },
];
const SENDING: typeof CHAINS = [
  { given: false, steps: ['create', 'update', 'send'] },
  { given: true, steps: ['update', 'update', 'send'] },
];

/** Registers the tests of one provider. The caller wraps them in a `describe`. */
export function describeChains(start: () => Promise<WriteSide>): void {
  let side: WriteSide;
  let chains: Chains;

  beforeAll(async () => {
    side = await start();
    chains = await Chains.start(side);
  });
  afterAll(async () => {
    await chains.server.close();
    await side.stop();
  });

  const cases = KINDS.flatMap((kind) =>
    [...CHAINS, ...(kind.kind === 'drafts' ? SENDING : [])].map(({ given, steps }) => {
      const what = `${kind.kind}: ${given ? 'given, ' : ''}${steps.join(', ')}`;
      return { what, kind, given, steps };
    }),
  );

  it.each(cases)(
    'ends as asked when the first of several writes is still on its way: $what',
    async ({ kind, given, steps }) => {
      const tag = chains.tag();
      let object: Shown | undefined;
      if (given) {
        object = await chains.step(kind, 'create', `${tag}v0`);
        await chains.written();
        await chains.synced([kind.resource]);
      }
      const id = object?.id;
      const { cursor_end: cursor } = await chains.api<{ cursor_end: string }>(
        'get',
        `/delta?cursor=${(await chains.api<{ cursor: string }>('post', '/delta/latest_cursor')).cursor}`,
      );
      const held = chains.held.hold();
      object = await chains.step(kind, steps[0]!, `${tag}v1`, object);
      await held.made;
      // A pass that sees the object before its id is known here.
      await chains.synced([kind.resource]);
      for (const [index, step] of steps.entries())
        if (index > 0) {
          const after = await chains.step(kind, step, `${tag}v${index + 1}`, object);
          object = { ...object, ...(step === 'update' ? after : {}) };
        }
      held.release();
      await chains.written();
      await chains.synced([kind.resource]);

      const last = steps.at(-1)!;
      const stays = last === 'create' || last === 'update';
      const title = `${tag}v${steps.length}`;
      const wanted = {
        drafts: [],
        folders: [],
        calendars: [],
        events: [],
        contacts: [],
        sent: last === 'send' ? [`${tag}v${steps.length - 1}`] : [],
        [kind.kind]: stays ? [title] : [],
      };
      expect(await chains.seen(tag)).toEqual(wanted);
      const shown = await chains.shown(kind, tag);
      const isThere = (one: Shown) => one['status'] !== 'cancelled';
      expect(shown.filter(isThere).map((one) => [one.id, kind.title(one)])).toEqual(
        stays ? [[id ?? object.id, title]] : [],
      );
      const { deltas } = await chains.api<{
        deltas: { object: string; event: string; id: string }[];
      }>('get', `/delta?cursor=${cursor}`);
      const word = kind.kind === 'folders' ? side.unit : kind.kind.slice(0, -1);
      const ofObject = deltas.filter((one) => one.id === object.id && one.object === word);
      expect(ofObject.map(({ event }) => event === 'delete')).toEqual([!stays]);
      const created = deltas.filter((one) => one.event === 'create' && one.object === word);
      expect(created.filter((one) => one.id !== object.id)).toEqual([]);
    },
  );

  describeMessageChains(() => chains);
}
