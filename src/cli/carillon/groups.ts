import type { AddCommands } from './cli.ts';

/** A group of commands. Its file is loaded when one of its commands runs, or its help is shown. */
export interface CommandGroup {
  name: string;
  alias?: string;
  description: string;
  load(): Promise<{ add: AddCommands }>;
}

/** The groups of `carillon`, in the order of its help. */
export const GROUPS: readonly CommandGroup[] = [
  {
    name: 'application',
    alias: 'applications',
    description: 'Applications that may use this server',
    load: () => import('./commands/application.ts'),
  },
  {
    name: 'account',
    alias: 'accounts',
    description: 'Connected accounts',
    load: () => import('./commands/account.ts'),
  },
  {
    name: 'jobs',
    alias: 'job',
    description: 'Messages, changes, reminders and sync passes: find, retry, cancel, release',
    load: () => import('./commands/jobs.ts'),
  },
  {
    name: 'webhooks',
    alias: 'webhook',
    description: 'Webhooks of all applications: deliveries, replay, pause',
    load: () => import('./commands/webhooks.ts'),
  },
  {
    name: 'mailbox',
    description: 'Mirrored mailboxes',
    load: () => import('./commands/mailbox.ts'),
  },
  {
    name: 'watches',
    description:
      'List what reports changes: watches of mailboxes, and subscriptions at providers; those that fail or end soon come first',
    load: () => import('./commands/watches.ts'),
  },
  {
    name: 'quotas',
    description:
      'What accounts and applications have used of quotas for services that cost money, and of the APIs of Google and Microsoft',
    load: () => import('./commands/quotas.ts'),
  },
  {
    name: 'capacity',
    description: 'Sizes of tables, growth a day, what is deleted when, and how long the disk lasts',
    load: () => import('./commands/capacity.ts'),
  },
  {
    name: 'moves',
    description:
      'Moves of rows from old tables to new ones, after an upgrade: show their progress, start them',
    load: () => import('./commands/moves.ts'),
  },
  {
    name: 'objects',
    description: 'The object store that keeps bodies of messages: move bodies there and back',
    load: () => import('./commands/objects.ts'),
  },
  {
    name: 'sms',
    description: 'Text messages that SMS_GATEWAY=recording stored instead of sending them',
    load: () => import('./commands/sms.ts'),
  },
  {
    name: 'operator',
    alias: 'operators',
    description: 'Operators of this server: who may open the console and use the admin API',
    load: () => import('./commands/operator.ts'),
  },
  {
    name: 'token',
    alias: 'tokens',
    description: 'Access tokens of accounts: list, create, revoke',
    load: () => import('./commands/token.ts'),
  },
  {
    name: 'audit',
    description: 'The audit log: who did what to accounts, applications, jobs and settings',
    load: () => import('./commands/audit.ts'),
  },
  {
    name: 'keys',
    description: 'Keys that encrypt secrets (ENCRYPTION_KEYS)',
    load: () => import('./commands/keys.ts'),
  },
  {
    name: 'instance',
    description:
      'Whether this installation may process what is queued in the database: a restored copy must not send',
    load: () => import('./commands/instance.ts'),
  },
  {
    name: 'log-level',
    description: 'Change the level of the logs of all processes for a while, or show it',
    load: () => import('./commands/log-level.ts'),
  },
  {
    name: 'migrate',
    description: 'Bring the database schema up to date',
    load: () => import('./commands/migrate.ts'),
  },
];
