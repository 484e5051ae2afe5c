/**
 * Why Carillon is certain that the mailbox of an account receives the mail of its address
 * (docs/account-ownership.md):
 * - `preset`: servers and login match the entry for the domain of the address in Carillon's own
 *   table;
 * - `discovery`: the domain itself names the servers and the login;
 * - `oauth`: the authorization server of the integration confirms that the user has this address;
 * - `integration`: the servers of the integration accepted the address itself as the login;
 * - `loop`: a mail sent to the address arrived in the mailbox;
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
