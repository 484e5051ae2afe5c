import { Injectable, Logger } from '@nestjs/common';
import { databaseTrouble } from '../../platform/database/database-trouble.ts';
import type { SendRoute } from '../../platform/job-statuses/job-status.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type {
  OutgoingMessage,
  SendControl,
  SendReceipt,
  SentLookup,
} from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { RelayRoutes } from '../relay/relay-routes.ts';
import { isFromItself } from '../../formats/mime/sender-identity.ts';
import type { StoredMessage } from './send-attempt.ts';

/** A route by which a message can be sent now. */
export interface OpenRoute {
  /** As `MailPort.send`. */
  send(message: OutgoingMessage, control: SendControl): Promise<SendReceipt>;
  /** As `MailPort.findSent`. */
  findSent(messageIdHeader: string): Promise<SentLookup>;
  /** Whether the sender's own copy has to be filed when it was sent. */
  filesCopy?: boolean;
}

/** Whose message it is, and who it says it is from. */
export type Sending = Pick<StoredMessage, 'account'> & { envelope: { from: string } };

/** Opens the routes of a message: its account's own provider, and its application's mailing service. */
@Injectable()
export class SendRoutes {
  readonly #log = new Logger(SendRoutes.name);

  constructor(
    private readonly connectors: ConnectorRegistry,
    private readonly relays: RelayRoutes,
  ) {}

  /**
   * @returns null: there is no mailing service (any more) that takes this message
   * @throws {UnsupportedProviderError} @throws {ProviderError} when the service could not be asked
   */
  async find(route: SendRoute, { account, envelope }: Sending): Promise<OpenRoute | null> {
    if (route === 'relay')
      return isFromItself(envelope.from, account) ? this.relays.find(account) : null;
    const port = this.connectors.requireMail(account.provider);
    return {
      send: (message, control) => port.send(account, message, control),
      findSent: (messageIdHeader) => port.findSent(account, messageIdHeader),
      filesCopy: port.fileSent !== undefined && account.settings['smtp_files_sent'] !== true,
    };
  }

  /** Whether the mailing service would take over now; one that cannot be asked would not. */
  async hasRelay(sending: Sending): Promise<boolean> {
    return this.#unlessAway(async () => (await this.find('relay', sending)) !== null);
  }

  /** The same, by what is known here. */
  async isRelayOpen({ account, envelope }: Sending): Promise<boolean> {
    return (
      isFromItself(envelope.from, account) && this.#unlessAway(() => this.relays.isOpen(account))
    );
  }

  /**
   * What an attempt came to is settled whether or not somebody else can be asked: if not, no. That holds for settings
   * that do not open, too: an error here would cost what is known of those who have got the message.
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
