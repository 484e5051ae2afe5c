import type { Connector } from '../../../providers/port/connector.ts';
import {
  declaredSettings,
  type KnownSettings,
} from '../../../providers/port/sign-in/known-settings.ts';
import type { Offer } from './provider-offers.ts';
import { NOT_THE_USERS } from './sign-in-credentials.ts';

/**
 * The settings of a sign-in link that its pages use: those of the offers with a password. Where
 * users choose the servers, they also type the credentials.
 * @param offers what the user can choose from
 */
export function settingsOfPages(
  offers: readonly Offer[],
  connectors: { require(provider: string): Pick<Connector, 'settingsSchema'> },
): KnownSettings {
  return new Map(
    offers
      .filter(({ oauth }) => !oauth)
      .flatMap(({ provider, signIn }) =>
        [...declaredSettings(connectors.require(provider))].filter(
          ([name]) => !signIn.password?.servers || !NOT_THE_USERS.includes(name),
        ),
      ),
  );
}
