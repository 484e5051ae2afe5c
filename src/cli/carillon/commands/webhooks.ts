import { type Command, InvalidArgumentError, Option } from 'commander';
import type { OperatorWebhooks } from '../../../operator/webhooks/operator-webhooks.ts';
import type {
  AttemptFilter,
  WebhookDetails,
  WebhookFilter,
} from '../../../operator/webhooks/webhook-types.ts';
import { isId } from '../../../platform/base/ids/ids.ts';
import type {
  ReplayRequest,
  ReplayResult,
} from '../../../platform/webhooks/replay/replay-events.ts';
import { WEBHOOK_STATES } from '../../../platform/webhooks/webhook-state.ts';
import { localTime } from '../../terminal/cells.ts';
import {
  allOption,
  example,
  FILTERS,
  limitOption,
  momentOf,
  OPTIONS,
  pageTokenOption,
  reasonOption,
} from '../arguments.ts';
import {
  type AddCommands,
  type OperatorCli,
  type PageFlags,
  readable,
  readableWhole,
} from '../cli.ts';

// In a narrow terminal, the last columns are left out.
const COLUMNS = [
  'id',
  'state',
  'delivery',
  'callback_url',
  'last_failure',
  'failures',
  'backlog',
  'failing_since',
  'oldest_due_at',
  'client_id',
] as const;
const ATTEMPT_COLUMNS = [
  'started_at',
  'event_id',
  'trigger',
  'deltas',
  'attempt',
  'outcome',
  'http_status',
  'took_ms',
  'detail',
  'response',
] as const;

/** No command but `activate` calls a receiver; see `withCalls`. */
const NO_CHALLENGE = {
  verify: () => Promise.reject(new Error('this command does not call receivers')),
};

async function withWebhooks<T>(
  cli: OperatorCli,
  work: (webhooks: OperatorWebhooks) => Promise<T>,
): Promise<T> {
  const { OperatorWebhooks } = await import('../../../operator/webhooks/operator-webhooks.ts');
  return cli.withServices(({ database, clock }) =>
    work(new OperatorWebhooks(database, clock, NO_CHALLENGE)),
  );
}

/** The same with a client that calls receivers within `EGRESS_ALLOW`. */
async function withCalls<T>(
  cli: OperatorCli,
  work: (webhooks: OperatorWebhooks) => Promise<T>,
): Promise<T> {
  const [{ OperatorWebhooks }, { WebhookChallenge }, { EgressClient }, { EgressPolicy }] =
    await Promise.all([
      import('../../../operator/webhooks/operator-webhooks.ts'),
      import('../../../platform/webhooks/webhook-challenge.ts'),
      import('../../../platform/egress/egress-client.ts'),
      import('../../../platform/egress/egress-policy.ts'),
    ]);
  return cli.withServices(async ({ config, database, clock }) => {
    const egress = new EgressClient(new EgressPolicy(config.egressAllow));
    try {
      await egress.onModuleInit();
      return await work(new OperatorWebhooks(database, clock, new WebhookChallenge(egress)));
    } finally {
      await egress.onApplicationShutdown();
    }
  });
}

function idOf(value: string): string {
  if (!isId(value)) throw new InvalidArgumentError('It must be the id of a webhook.');
  return value;
}

const print = (cli: OperatorCli, webhook: WebhookDetails) =>
  cli.print(readableWhole(webhook), () => {
    const { lastHour, feed, ...facts } = webhook;
    const hour = `${lastHour.delivered} delivered, ${lastHour.retry} failed, ${lastHour.dropped} given up`;
    const waiting = `${feed.waiting}${feed.waitingIsMore ? ' or more' : ''} events wait after ${feed.position ?? 'the beginning'}`;
    return cli.table(readable({ ...facts, lastHour: hour, feed: waiting }));
  });

function addLists(group: Command, cli: OperatorCli): void {
  group
    .command('list')
    .description('list webhooks of all applications: failed and failing ones first')
    .optionsGroup(FILTERS)
    .addOption(
      new Option(
        '--state <state>',
        'only webhooks in this state; unwell: failing, failed, or without a success since a failure',
      ).choices(['unwell', ...WEBHOOK_STATES]),
    )
    .option('--application <id>', 'only webhooks of this application: its client id or id')
    .option('--url <text>', 'only webhooks with this text in their callback address')
    .optionsGroup(OPTIONS)
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .addOption(allOption())
    .addHelpText(...example('webhooks list --state=unwell'))
    .action(async ({ limit, pageToken, all, ...filter }: PageFlags & WebhookFilter) =>
      withWebhooks(cli, (webhooks) =>
        cli.printPages({ limit, pageToken, all }, COLUMNS, (page) => webhooks.list(filter, page)),
      ),
    );
  group
    .command('show')
    .description('show one webhook: state, backlog, the last hour, and how far a replay can reach')
    .argument('<id>', 'id of the webhook', idOf)
    .addHelpText(...example('webhooks show <id>'))
    .action(async (id: string) => print(cli, await withWebhooks(cli, (all) => all.get(id))));
  group
    .command('attempts')
    .description('list attempts of the last 30 days with what the receiver answered, newest first')
    .argument('<id>', 'id of the webhook', idOf)
    .optionsGroup(FILTERS)
    .addOption(
      new Option('--outcome <outcome>', 'only attempts with this outcome').choices([
        'delivered',
        'retry',
        'dropped',
      ]),
    )
    .option('--event-id <id>', 'only attempts of this event (event_id of a delta)')
    .option('--since <time>', 'only attempts since: 2h, 3d, or 2026-11-24T09:00Z', momentOf)
    .option('--until <time>', 'only attempts before, written in the same way', momentOf)
    .optionsGroup(OPTIONS)
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .addOption(allOption())
    .addHelpText(...example('webhooks attempts <id> --outcome=retry --since=2h'))
    .action(async (id: string, { limit, pageToken, all, ...filter }: PageFlags & AttemptFilter) =>
      withWebhooks(cli, (webhooks) =>
        cli.printPages({ limit, pageToken, all }, ATTEMPT_COLUMNS, (page) =>
          webhooks.attempts(id, filter, page),
        ),
      ),
    );
}

interface ReplayFlags {
  event?: string;
  since?: Date;
  until?: Date;
  failed?: boolean;
  undelivered?: boolean;
  yes?: boolean;
}

function describeReplay({ matched, queued, running, reachesBackTo, dryRun }: ReplayResult): string {
  return [
    `${matched} events matched, ${queued} ${dryRun ? 'would be' : 'were'} queued, ${running} are being delivered now`,
    `A replay reaches back to ${localTime(reachesBackTo)}; the receiver sees the same event ids again.`,
    ...(dryRun && queued > 0 ? ['Nothing was queued. Add --yes to do it.'] : []),
  ].join('\n');
}

/** `null` unless exactly one of them is given. */
function whichOf({
  event: eventId,
  since,
  until = null,
  failed,
  undelivered = false,
}: Omit<ReplayFlags, 'yes' | 'until'> & { until?: Date | null }): ReplayRequest | null {
  if ([eventId, since, failed].filter((one) => one !== undefined).length !== 1) return null;
  if (eventId !== undefined) return { eventId };
  return since ? { since, until, undeliveredOnly: undelivered } : { failed: true };
}

function addReplay(group: Command, cli: OperatorCli): void {
  const command = group
    .command('replay')
    .description(
      'deliver stored events again, one, a span or all that failed: shown first, done with --yes',
    )
    .argument('<id>', 'id of the webhook', idOf)
    .option('--event <id>', 'the event with this id (the header webhook-id)')
    .option('--since <time>', 'all events since: 2h, 3d, or 2026-11-24T09:00Z', momentOf)
    .option('--until <time>', 'with --since: only events before, written in the same way', momentOf)
    .option('--failed', 'all events whose delivery was tried and not confirmed')
    .option('--undelivered', 'with --since: leave out events that the receiver has confirmed')
    .option('--yes', 'do it')
    .addHelpText(...example('webhooks replay <id> --since=2h --undelivered'))
    .action(async (id: string, { yes = false, ...flags }: ReplayFlags) => {
      const which = whichOf(flags);
      if (!which) return command.error('error: give one of --event, --since and --failed');
      if (flags.until && !flags.since) command.error('error: --until needs --since');
      const replayed = await withWebhooks(cli, (all) =>
        all.replay(cli.actor, id, { which, dryRun: !yes }),
      );
      cli.print(readableWhole(replayed), () => describeReplay(replayed));
    });
}

/** `carillon webhooks`: shows deliveries, replays events, pauses and activates webhooks. */
export const add: AddCommands = (group, cli) => {
  addLists(group, cli);
  addReplay(group, cli);
  group
    .command('pause')
    .description('stop the deliveries of a webhook; its events stay stored')
    .argument('<id>', 'id of the webhook', idOf)
    .addOption(reasonOption())
    .addHelpText(...example('webhooks pause <id>'))
    .action(async (id: string, { reason }: { reason?: string }) =>
      print(cli, await withWebhooks(cli, (all) => all.pause(cli.actor, id, reason))),
    );
  group
    .command('activate')
    .description('activate a webhook: its receiver must pass the challenge; missed events follow')
    .argument('<id>', 'id of the webhook', idOf)
    .addHelpText(...example('webhooks activate <id>'))
    .action(async (id: string) =>
      print(cli, await withCalls(cli, (all) => all.activate(cli.actor, id))),
    );
};
