/** An email address with a display name, which may be empty. */
export interface Address {
  email: string;
  name: string;
}

/** A longer text is no email address. */
export const MOST_EMAIL_LENGTH = 320;

/**
 * An address that mail can be sent to. It allows RFC 6531 addresses and unusual local parts,
 * because real mail has them.
 */
export const EMAIL_ADDRESS = /^[^\s@<>(),;:"\\\p{Cc}]+@[^\s@<>(),;:"\\\p{Cc}]+$/u;

export function isEmailAddress(text: string): boolean {
  return text.length <= MOST_EMAIL_LENGTH && EMAIL_ADDRESS.test(text);
}
