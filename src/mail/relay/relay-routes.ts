import type {
  OutgoingMessage,
  ProviderAccount,
  SendControl,
  SendReceipt,
  SentLookup,
} from '../../providers/port/connector.ts';
import type { RelayKind } from '../../providers/port/relay.ts';

/** An account that may be routed to its application's mailing service. */
export type RoutedAccount = Pick<ProviderAccount, 'accountId' | 'applicationId' | 'email' | 'name'>;

/** The mailing service as one account may use it. */
export interface RelayRoute {
  readonly kind: RelayKind;
  /** As `MailPort.send`. */
  send(message: OutgoingMessage, control: SendControl): Promise<SendReceipt>;
  /** As `MailPort.findSent`. */
  findSent(messageIdHeader: string): Promise<SentLookup>;
}

/** The way from an account to its application's mailing service. */
export abstract class RelayRoutes {
  /**
   * The service, if the application has one and it takes mail from the account; one that did not is asked again, at most
   * once a minute. Never for an account whose address is not proven.
   * @returns null: there is no such way
   * @throws {ProviderError} when the service had to be asked and could not be
   */
  abstract find(account: RoutedAccount): Promise<RelayRoute | null>;
  /** Whether there is a way, by what is known here: asks nobody. */
  abstract isOpen(account: RoutedAccount): Promise<boolean>;
}
