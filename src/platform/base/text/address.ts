/** An email address with the name beside it; the name may be empty. */
export interface Address {
  email: string;
  name: string;
}

/** Longer texts are no addresses. */
export const MOST_EMAIL_LENGTH = 320;

/** An address that mail can be sent to. RFC 6531 addresses and unusual local parts are allowed: real mail has them. */
export const EMAIL_ADDRESS = /^[^\s@<>(),;:"\\\p{Cc}]+@[^\s@<>(),;:"\\\p{Cc}]+$/u;

export function isEmailAddress(text: string): boolean {
  return text.length <= MOST_EMAIL_LENGTH && EMAIL_ADDRESS.test(text);
}
