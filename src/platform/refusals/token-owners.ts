/** Finds accounts by their access tokens. Implemented by the accounts module. */
export abstract class TokenOwners {
  /**
   * Finds whose tokens these are or were: tokens that were revoked or have expired are known for 30
   * days.
   * @param hashes SHA-256 of the tokens
   * @returns ids of accounts by hash in base64, without unknown tokens
   */
  abstract accountsOf(hashes: readonly Buffer[]): Promise<ReadonlyMap<string, string>>;
}
