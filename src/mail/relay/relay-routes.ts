import type {
  OutgoingMessage,
  ProviderAccount,
  SendControl,
  SendReceipt,
  SentLookup,
} from '../../providers/port/connector.ts';
import type { RelayKind } from '../../providers/port/mail/relay.ts';

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

/** Routes from accounts to the mailing services of their applications. */
export abstract class RelayRoutes {
  /**
   * The service, if the application has one and it takes mail from the account. A service that did
   * not take mail from the account is asked again, at most once a minute. There is no route for an
   * account whose address is not proven.
   * @returns `null` if there is no route
   * @throws {ProviderError} if the service had to be asked and could not be
   */
  abstract find(account: RoutedAccount): Promise<RelayRoute | null>;
  /** Whether there is a route, according to our own records. Does not ask the service. */
  abstract isOpen(account: RoutedAccount): Promise<boolean>;
}
