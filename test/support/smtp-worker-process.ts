import { z } from 'zod';
import { compiled } from '../../scripts/lib/project.ts';
import type {
  CalendarPort,
  Connector,
  MailboxPort,
  MailPort,
  OutgoingMessage,
  ProviderAccount,
  SendControl,
  SentLookup,
} from '../../src/providers/port/connector.ts';

/*
 * The built program with mail accounts that send by SMTP. It is `dist/src/main.js` with an
 * additional connector for `imap`, which uses the product's own SMTP sender. Only the Sent folder
 * is not real: the connector asks the sink what it has accepted. Node runs this file directly;
 * `fault-world.ts` starts it.
 */

const [
  { createApp, closeApp },
  { loadConfig },
  startup,
  { ConnectorRegistry },
  { SmtpSender },
  egress,
] = await Promise.all([
  import(compiled('app/app')) as Promise<typeof import('../../src/app/app.ts')>,
  import(compiled('platform/config/app-config')) as Promise<
    typeof import('../../src/platform/config/app-config.ts')
  >,
  import(compiled('app/startup')) as Promise<typeof import('../../src/app/startup.ts')>,
  import(compiled('providers/port/connector-registry')) as Promise<
    typeof import('../../src/providers/port/connector-registry.ts')
  >,
  import(compiled('providers/smtp/smtp-sender')) as Promise<
    typeof import('../../src/providers/smtp/smtp-sender.ts')
  >,
  import(compiled('platform/egress/egress-policy')) as Promise<
    typeof import('../../src/platform/egress/egress-policy.ts')
  >,
]);

const settingsSchema = z.object({
  port: z.number(),
  /**
   * URL of the sink that reports accepted messages, or `null` for an account without a Sent folder.
   */
  sent_url: z.string().nullable(),
});

const config = loadConfig(process.env);
const sender = new SmtpSender(new egress.EgressPolicy(config.egressAllow), {
  // How long the test wants to wait for a silent server.
  connectMs: Number(process.env['SMTP_CONNECT_MS'] ?? 15_000),
  commandMs: Number(process.env['SMTP_COMMAND_MS'] ?? 60_000),
  confirmationMs: Number(process.env['SMTP_CONFIRMATION_MS'] ?? 120_000),
});

async function findSent(
  { email, settings }: ProviderAccount,
  messageId: string,
): Promise<SentLookup> {
  const { sent_url: url } = settingsSchema.parse(settings);
  if (url === null) return { found: false, conclusive: false };
  const question = new URLSearchParams({ from: email, message_id: messageId });
  const answer = (await (await fetch(`${url}?${question.toString()}`)).json()) as {
    found: boolean;
  };
  return { found: answer.found, conclusive: true };
}

const nothing = () => Promise.reject(new Error('accounts of the fault tests are not mirrored'));
const mail: MailPort = {
  sendsTo: ({ settings }) => `127.0.0.1:${settingsSchema.parse(settings).port}`,
  send: (account: ProviderAccount, message: OutgoingMessage, control: SendControl) =>
    sender.send(
      account.accountId,
      {
        host: '127.0.0.1',
        port: settingsSchema.parse(account.settings).port,
        security: 'none',
        login: null,
      },
      message,
      control,
    ),
  findSent,
  fileRelayed: nothing,
  listChanges: nothing,
  fetchRaw: nothing,
  openFile: nothing,
};
/** Only drafts are ever deleted from the mailbox, and the tests' messages were not drafts. */
const mailbox: MailboxPort = {
  setFlags: nothing,
  setFolders: nothing,
  createFolder: nothing,
  renameFolder: nothing,
  deleteFolder: nothing,
  saveDraft: nothing,
  deleteDraft: () => Promise.resolve(),
};
await startup.waitForDatabase(() => startup.requireCurrentSchema(config.database));
const app = await createApp(config);
const registry = app.get(ConnectorRegistry);
// The accounts' calendars are at the sandbox, which does not know the settings for mail.
const calendar = new Proxy(registry.requireCalendar('sandbox'), {
  get: (port, name: keyof CalendarPort) => {
    const method = port[name] as
      | ((account: ProviderAccount, ...rest: unknown[]) => unknown)
      | undefined;
    if (!method) return undefined;
    return (account: ProviderAccount, ...rest: unknown[]) =>
      method.call(port, { ...account, settings: {} }, ...rest);
  },
});
const connector: Connector = {
  name: 'imap',
  settingsSchema,
  verify: nothing,
  mail,
  mailbox,
  calendar,
};
registry.replace(connector);
startup.stopOnSignals(config, async () => {
  await closeApp(app);
  await sender.close();
});
await startup.listen(app, config);
// The program logs its address only if its log level allows that.
process.stdout.write(`listening on ${await app.getUrl()}\n`);
