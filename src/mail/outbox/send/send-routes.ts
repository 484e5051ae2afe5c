import { Inject, Injectable, Logger } from '@nestjs/common';
import { scheduleSyncSoon } from '../../../accounts/sync-schedule/schedule-sync.ts';
import { APP_CONFIG, type AppConfig } from '../../../platform/config/app-config.ts';
import { databaseTrouble } from '../../../platform/database/health/database-trouble.ts';
import { Database } from '../../../platform/database/sql.ts';
import type { SendRoute } from '../../../job-statuses/job-status.ts';
import { ConnectorRegistry } from '../../../providers/port/connector-registry.ts';
import type {
  OutgoingMessage,
  SendControl,
  SendReceipt,
  SentLookup,
  SentTraces,
} from '../../../providers/port/connector.ts';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { RelayRoutes } from '../../relay/relay-routes.ts';
import { fieldsOfMessage, subjectOf } from '../../../formats/mime/message-header.ts';
import { isFromItself } from '../../../formats/mime/sender-identity.ts';
import { ownIdsAmong } from '../own-ids.ts';
import type { SendJobRow, MessageToSend } from './send-attempt.ts';

/** A route over which a message can be sent now. */
export interface OpenRoute {
  /** Name of the server that gets the message. Messages for one server share a limit. */
  host: string;
  /** As `MailPort.recipientsFrom`. */
  recipientsFrom: 'envelope' | 'headers';
  /** As `MailPort.send`. */
  send(message: OutgoingMessage, control: SendControl): Promise<SendReceipt>;
  /** As `MailPort.findSent`. */
  findSent(messageIdHeader: string, traces: SentTraces): Promise<SentLookup>;
}

/** The account of a message, and the sender address of its envelope. */
export type Sending = Pick<MessageToSend, 'account'> & { envelope: { from: string } };

/**
 * Opens the routes of a message: its account's own provider, and its application's mailing service.
 */
@Injectable()
export class SendRoutes {
  readonly #log = new Logger(SendRoutes.name);

  constructor(
    private readonly connectors: ConnectorRegistry,
    private readonly relays: RelayRoutes,
    private readonly database: Database,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'outbox'>,
  ) {}

  /**
   * Opens a route.
   * @returns `null` if no mailing service takes this message (any more)
   * @throws {UnsupportedProviderError} if the account's provider offers no mail
   * @throws {ProviderError} if the mailing service could not be asked
   */
  async find(route: SendRoute, { account, envelope }: Sending): Promise<OpenRoute | null> {
    if (route === 'relay') {
      const relay = isFromItself(envelope.from, account) ? await this.relays.find(account) : null;
      const host = `the relay of application ${account.applicationId}`;
      return relay && { ...relay, host, recipientsFrom: 'envelope' };
    }
    const port = this.connectors.requireMail(account.provider);
    return {
      host: port.sendsTo?.(account) ?? account.provider,
      recipientsFrom: port.recipientsFrom ?? 'envelope',
      send: async (message, control) => {
        const receipt = await port.send(account, message, control);
        const { copyAfterSeconds: seconds } = receipt;
        if (seconds !== undefined) await this.#syncSoon(account.accountId, seconds);
        return receipt;
      },
      findSent: (messageIdHeader, traces) => {
        const { mailDomain } = this.config.outbox;
        const among = (ids: readonly string[]) =>
          ownIdsAmong(this.database, account.accountId, ids, mailDomain);
        return port.findSent(account, messageIdHeader, { ...traces, ownIdsAmong: among });
      },
    };
  }

  /**
   * Whether Carillon has to file the sender's copy of a message that left by this route. A mailing
   * service never files one in the account's mailbox.
   */
  filesCopy(route: SendRoute, account: MessageToSend['account']): boolean {
    if (route === 'relay') return true;
    const port = this.connectors.requireMail(account.provider);
    return port.fileSent !== undefined && account.settings['smtp_files_sent'] !== true;
  }

  /**
   * Whether the mailing service would take this message now. Asks the service; false if it cannot
   * be asked.
   */
  async hasRelay(sending: Sending): Promise<boolean> {
    return this.#unlessAway(async () => (await this.find('relay', sending)) !== null);
  }

  /**
   * Whether the mailing service would take this message, according to our own records. Does not ask
   * the service.
   */
  async isRelayOpen({ account, envelope }: Sending): Promise<boolean> {
    return (
      isFromItself(envelope.from, account) && this.#unlessAway(() => this.relays.isOpen(account))
    );
  }

  /** The message has been sent: an error here must not make its attempt fail. */
  async #syncSoon(accountId: string, seconds: number): Promise<void> {
    await this.#unlessAway(async () => {
      await scheduleSyncSoon(this.database, accountId, seconds);
      return true;
    });
  }

  /**
   * Runs `ask`; returns false if it fails. An attempt must be settled even if the service or the
   * database is unreachable, or stored settings cannot be decrypted. An error here would lose what
   * is known about recipients that have the message.
   */
  async #unlessAway(ask: () => Promise<boolean>): Promise<boolean> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ProviderError) && !databaseTrouble(error)) this.#log.error(error);
      return false;
    }
  }
}

/**
 * What is known of a message that is looked up. No attempt of unknown outcome is older than its due
 * time: a message is not edited after one, and a release from quarantine keeps the due time.
 */
export function tracesOf(
  { envelope, mime }: MessageToSend,
  { dueAt }: Pick<SendJobRow, 'dueAt'>,
): SentTraces {
  const subject = mime && subjectOf(fieldsOfMessage(mime));
  return { recipients: envelope.recipients, subject, since: dueAt };
}
