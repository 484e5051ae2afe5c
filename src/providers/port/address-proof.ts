/**
 * What proved that the mailbox of an account receives the mail of its address:
 * - `preset`: the servers and the login are those of the address's domain in our own table;
 * - `discovery`: the domain itself names the servers and the login;
 * - `oauth`: the authorization server of the integration says that the user has this address;
 * - `integration`: the servers of the integration let the address itself in;
 * - `loop`: a mail sent to the address turned up in the mailbox;
 * - `sandbox`: a sandbox account under a domain that is reserved for tests.
 */
export const ADDRESS_PROOFS = [
  'preset',
  'discovery',
  'oauth',
  'integration',
  'loop',
  'sandbox',
] as const;
export type AddressProof = (typeof ADDRESS_PROOFS)[number];
