import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * Why no text may be sent to a number. A premium-rate number is always refused. A number without a
 * known country is refused unless all countries are allowed.
 * @param number in international format
 * @param countries ISO codes of the allowed countries; empty allows all
 * @returns `null` if texts may be sent to the number
 */
export function phoneRefusal(number: string, countries: readonly string[]): string | null {
  const parsed = parsePhoneNumberFromString(number);
  if (parsed?.getType() === 'PREMIUM_RATE')
    return 'it is a premium-rate number, which charges the sender';
  if (countries.length === 0) return null;
  const country = parsed?.country;
  if (country !== undefined && countries.includes(country)) return null;
  const place =
    country === undefined ? 'it belongs to no known country' : `it belongs to ${country}`;
  return `${place}; this server sends texts to ${countries.join(', ')} only`;
}
