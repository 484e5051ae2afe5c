import type { AddressInfo } from 'node:net';
import { compiled } from '../../scripts/lib/project.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { type BenchMail, instantConnector, Lateness, smtpConnector } from './connectors.ts';
import { serve } from './serve.ts';

/*
 * The built program with a bench connector for the provider `imap`. Only the destination of the
 * mail differs from the product. `BENCH_MAIL` names the destination.
 */

const load = <T>(name: string): Promise<T> => import(compiled(name)) as Promise<T>;
const { closeApp, createApp } = await load<typeof import('../../src/app/app.ts')>('app/app');
const { loadConfig } = await load<typeof import('../../src/platform/config/app-config.ts')>(
  'platform/config/app-config',
);
const { ConnectorRegistry } = await load<
  typeof import('../../src/providers/port/connector-registry.ts')
>('providers/port/connector-registry');

const mail = JSON.parse(process.env['BENCH_MAIL'] ?? '{"kind":"instant","delayMs":0}') as BenchMail;
const lateness = new Lateness();

async function connectorOf(): Promise<Connector> {
  if (mail.kind === 'instant') return instantConnector(mail.delayMs, lateness);
  const { SmtpSender } = await load<typeof import('../../src/providers/smtp/smtp-sender.ts')>(
    'providers/smtp/smtp-sender',
  );
  const { EgressPolicy } = await load<typeof import('../../src/platform/egress/egress-policy.ts')>(
    'platform/egress/egress-policy',
  );
  return smtpConnector(new SmtpSender(new EgressPolicy(['127.0.0.0/8'])), mail.port, lateness);
}

/** The statement with which this program claims messages. */
async function claimStatement(): Promise<string> {
  const { queueStatements } = await load<
    typeof import('../../src/platform/work/queue/queue-statements.ts')
  >('platform/work/queue/queue-statements');
  const { SendDispatcher } = await load<
    typeof import('../../src/mail/outbox/send/send-dispatcher.ts')
  >('mail/outbox/send/send-dispatcher');
  return queueStatements(app.get(SendDispatcher).table).claim;
}

const app = await createApp(loadConfig(process.env));
app.get(ConnectorRegistry).replace(await connectorOf());
await app.listen(0, '127.0.0.1');
process.on('SIGTERM', () => {
  closeApp(app).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
// Ctrl-C reaches the whole process group, but the bench itself must end its processes.
process.on('SIGINT', () => undefined);
serve((app.getHttpServer().address() as AddressInfo).port, {
  lateness: () => lateness.take(),
  claimStatement,
});
