import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * Why no text is sent to a number.
 * @param number in international format
 * @param countries ISO codes of the countries that may get texts; empty: all
 * @returns null: it may get texts. A premium-rate number never may, a number of no known country only if all may
 */
export function phoneRefusal(number: string, countries: readonly string[]): string | null {
  const parsed = parsePhoneNumberFromString(number);
  if (parsed?.getType() === 'PREMIUM_RATE')
    return 'it is a premium-rate number, which costs whoever texts it';
  if (countries.length === 0) return null;
  const country = parsed?.country;
  if (country !== undefined && countries.includes(country)) return null;
  const place =
    country === undefined ? 'it belongs to no known country' : `it belongs to ${country}`;
  return `${place}; this server sends texts to ${countries.join(', ')} only`;
}
