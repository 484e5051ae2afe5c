import type { INestApplicationContext } from '@nestjs/common';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import type { Connector, MailPort, ProviderAccount } from '../../src/providers/port/connector.ts';

/**
 * The sandbox as a mail server that does not store sent messages itself, so that the client has to.
 */
export class FilingConnector implements Connector {
  readonly name = 'sandbox';
  readonly settingsSchema: Connector['settingsSchema'];
  readonly mail: MailPort;
  /** The server refuses copies of messages with this text. */
  static readonly REFUSED = 'over quota';
  readonly filed: { email: string; messageIdHeader: string; mime: string }[] = [];

  constructor(
    private readonly sandbox: Connector,
    port: MailPort,
  ) {
    this.settingsSchema = sandbox.settingsSchema;
    const { filed } = this;
    this.mail = Object.assign(Object.create(port) as MailPort, {
      async fileSent({ email }: ProviderAccount, messageIdHeader: string, mime: Buffer) {
        if (mime.includes(FilingConnector.REFUSED))
          throw new ProviderError('rejected', 'NO [OVERQUOTA] the mailbox is full');
        filed.push({ email, messageIdHeader, mime: String(mime) });
      },
    });
    for (const method of [
      'send',
      'findSent',
      'listChanges',
      'fetchRaw',
      'openFile',
      'onChange',
    ] as const)
      Object.assign(this.mail, {
        [method]: (port[method] as (...args: never[]) => unknown).bind(port),
      });
  }

  /** Replaces the sandbox of an application under test. */
  static install(app: INestApplicationContext): FilingConnector {
    const registry = app.get(ConnectorRegistry);
    const connector = new FilingConnector(
      registry.require('sandbox'),
      registry.requireMail('sandbox'),
    );
    registry.replace(connector);
    return connector;
  }

  verify(account: Parameters<Connector['verify']>[0]) {
    return this.sandbox.verify(account);
  }
}
