import { type Command, InvalidArgumentError, Option } from 'commander';
import { isId } from '../../../platform/base/ids/ids.ts';
import { onOneLine } from '../../../platform/base/text/plain-text.ts';
import type { OperatorJobs } from '../../../operator/jobs/operator-jobs.ts';
import {
  type BulkResult,
  JOB_KINDS,
  JOB_STATE_FILTERS,
  type JobActionName,
  type JobDetails,
  type JobFilter,
  type JobSummary,
  type TimelineEntry,
} from '../../../operator/jobs/job-types.ts';
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
  'account_email',
  'recipients',
  'reason',
  'due_at',
  'kind',
  'subject',
  'next_at',
  'attempts',
] as const;

interface ActFlags extends JobFilter {
  reason?: string;
  yes?: boolean;
  pageToken?: string;
}

async function withJobs<T>(cli: OperatorCli, work: (jobs: OperatorJobs) => Promise<T>): Promise<T> {
  const { OperatorJobs } = await import('../../../operator/jobs/operator-jobs.ts');
  return cli.withServices(({ database, clock }) => work(new OperatorJobs(database, clock)));
}

function jobIdOf(value: string): string {
  if (!isId(value)) throw new InvalidArgumentError('It must be the id of a job (job_status_id).');
  return value;
}

/** Adds the conditions that choose jobs. */
function addFilter(command: Command): Command {
  return command
    .optionsGroup(FILTERS)
    .addOption(new Option('--kind <kind>', 'only jobs of this kind').choices(JOB_KINDS))
    .addOption(
      new Option(
        '--state <state>',
        'only jobs in this state; late: more than a minute past their time',
      ).choices(JOB_STATE_FILTERS),
    )
    .option('--account <account>', 'only jobs of this account: its id or email address')
    .option('--application <id>', 'only jobs of this application: its client id or id')
    .option('--recipient <recipient>', 'only jobs to this email address, phone number or URL')
    .option('--message-id <id>', 'only the message with this Message-ID')
    .option('--subject <words>', 'only jobs whose subject has these words')
    .option('--since <time>', 'only jobs accepted since: 2h, 3d, or 2026-11-24T09:00Z', momentOf)
    .option('--until <time>', 'only jobs accepted before, written in the same way', momentOf)
    .optionsGroup(OPTIONS);
}

/** One line, and one for what the provider answered. A table would cut those words off. */
function describeEntry({ at, kind, text, said }: TimelineEntry): string {
  const line = `${at === null ? 'now' : localTime(at)} ${kind}: ${text}`;
  return onOneLine(line) + (said === null ? '' : `\n    ${onOneLine(said)}`);
}

/** Text for one job: its fields, then its timeline. */
function describe(
  cli: OperatorCli,
  { timeline, worker, accountClosed, refused, ...job }: JobDetails,
): string {
  const facts = {
    ...job,
    refused: refused.map(({ email, reason }) => `${email}: ${reason}`).join('; '),
    worker:
      worker && `${worker.id}, last seen ${worker.seenAt ? localTime(worker.seenAt) : 'never'}`,
    accountClosed:
      accountClosed && `until ${localTime(accountClosed.until)}: ${accountClosed.reason ?? ''}`,
  };
  return `${cli.table(readable(facts))}\n${timeline.map(describeEntry).join('\n')}`;
}

function describeBulk(
  cli: OperatorCli,
  action: JobActionName,
  result: BulkResult<JobSummary>,
): string {
  const { matched, changed, skipped, sample, dryRun, nextPageToken } = result;
  const verb = { retry: 'made due now', cancel: 'cancelled', release: 'released' }[action];
  return [
    `${matched} matched, ${changed} ${dryRun ? 'would be' : 'were'} ${verb}`,
    ...skipped.map(({ reason, count }) => `${count} left alone: ${reason}`),
    ...(sample.length > 0 ? ['For example:', cli.table(sample.map(readable), COLUMNS)] : []),
    ...(dryRun && changed > 0 ? ['Nothing was changed. Add --yes to do it.'] : []),
    ...(nextPageToken === null ? [] : [`There are more: --page-token ${nextPageToken}`]),
  ].join('\n');
}

const ACTIONS = [
  ['retry', 'make open jobs due now; a message never leaves before its send time'],
  ['cancel', 'cancel messages and reminders that have not left'],
  [
    'release',
    'release messages and reminders from quarantine; a message is looked up before it is sent again',
  ],
] as const satisfies readonly (readonly [JobActionName, string])[];

function addAction(group: Command, cli: OperatorCli, action: JobActionName, what: string): void {
  const command = group
    .command(action)
    .description(`${what}. One job by its id, or all that match: shown first, done with --yes`)
    .argument('[id]', 'id of one job', jobIdOf);
  addFilter(command)
    .addOption(reasonOption())
    .option('--yes', 'do it to all jobs that match, at most 5,000 in a call')
    .addOption(pageTokenOption())
    .addHelpText(...example(`jobs ${action} --account=ada@example.com --state=late --yes`))
    .action(async (id: string | undefined, flags: ActFlags) => {
      const { reason, yes = false, pageToken, ...filter } = flags;
      if (id !== undefined) {
        if (Object.keys(filter).length > 0)
          command.error('error: give the id of one job, or conditions, not both');
        const job = await withJobs(cli, (jobs) => jobs.act(cli.actor, action, id, reason));
        return cli.print(readableWhole(job), () => describe(cli, job));
      }
      const bulk = { action, filter, dryRun: !yes, reason, pageToken };
      const result = await withJobs(cli, (jobs) => jobs.actOnAll(cli.actor, bulk));
      cli.print(readableWhole(result), () => describeBulk(cli, action, result));
    });
}

interface SettleFlags {
  sent?: boolean;
  notSent?: boolean;
  reason: string;
}

function addSettle(group: Command, cli: OperatorCli): void {
  const command = group
    .command('settle')
    .description('decide whether a message of unknown outcome was sent, after you have found out')
    .argument('<id>', 'id of the job (job_status_id)', jobIdOf)
    .addOption(
      new Option('--sent', 'everybody has it, except recipients who refused it').conflicts(
        'notSent',
      ),
    )
    .option('--not-sent', 'nobody got it: it is sent again, or fails if its deadline has passed')
    .requiredOption('--reason <words>', 'how you found out; users see it in the timeline')
    .addHelpText(
      ...example('jobs settle <id> --sent --reason="the log of the mail server lists it"'),
    )
    .action(async (id: string, { sent = false, notSent = false, reason }: SettleFlags) => {
      if (!sent && !notSent) command.error('error: add --sent or --not-sent');
      const outcome = sent ? 'sent' : 'not-sent';
      const job = await withJobs(cli, (jobs) => jobs.settle(cli.actor, id, outcome, reason));
      cli.print(readableWhole(job), () => describe(cli, job));
    });
}

/** `carillon jobs`: finds, shows, retries, cancels, releases and settles jobs. */
export const add: AddCommands = (group, cli) => {
  addFilter(group.command('list').description('list jobs of all accounts, newest first'))
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .addOption(allOption())
    .addHelpText(...example('jobs list --state=late --since=2h'))
    .action(async ({ limit, pageToken, all, ...filter }: JobFilter & PageFlags) =>
      withJobs(cli, (jobs) =>
        cli.printPages({ limit, pageToken, all }, COLUMNS, (page) => jobs.list(filter, page)),
      ),
    );
  group
    .command('show')
    .description('show one job with its timeline: every attempt and what the provider answered')
    .argument('<id>', 'id of the job (job_status_id)', jobIdOf)
    .addHelpText(...example('jobs show <id>'))
    .action(async (id: string) => {
      const job = await withJobs(cli, (jobs) => jobs.get(id));
      cli.print(readableWhole(job), () => describe(cli, job));
    });
  for (const [action, what] of ACTIONS) addAction(group, cli, action, what);
  addSettle(group, cli);
};
