import { whenNeeded } from '../../platform/base/when-needed.ts';

/** The plans of all countries take 2.4 MB. */
const library = whenNeeded(
  import.meta.url,
  (require) => require('libphonenumber-js/max') as typeof import('libphonenumber-js/max'),
);

/** Kinds of numbers that cost the sender more than other numbers of their country. */
const COSTLY: Readonly<Record<string, string>> = {
  PREMIUM_RATE: 'it is a premium-rate number, which charges the sender',
  SHARED_COST: 'it is a shared-cost number, which charges the sender',
  PERSONAL_NUMBER: 'it is a personal number, which charges the sender',
};

/**
 * Why no text may be sent to a number. Numbers that charge the sender are always refused. So are
 * numbers whose calling code belongs to no country: satellites, ships and global networks (ITU-T
 * E.164). Their texts cost many times those of a country. A number of a
 * country's calling code without a known country is refused unless all countries are allowed.
 * @param number in international format
 * @param countries ISO codes of the allowed countries; empty allows all
 * @returns `null` if texts may be sent to the number
 */
export function phoneRefusal(number: string, countries: readonly string[]): string | null {
  const parsed = library().parsePhoneNumberFromString(number);
  const costly = COSTLY[parsed?.getType() ?? ''];
  if (costly !== undefined) return costly;
  // The library knows no number of an unassigned calling code.
  if (!parsed || parsed.isNonGeographic())
    return 'its calling code belongs to no country, as those of satellites and global networks';
  if (countries.length === 0) return null;
  const { country } = parsed;
  if (country !== undefined && countries.includes(country)) return null;
  const place =
    country === undefined ? 'it belongs to no known country' : `it belongs to ${country}`;
  return `${place}; this server sends texts to ${countries.join(', ')} only`;
}
