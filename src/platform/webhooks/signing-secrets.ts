/** Opens the secrets that sign webhook deliveries. Applications implement it: the secrets are theirs. */
export abstract class SigningSecrets {
  /**
   * @param sealed the application's `secret_sealed`
   * @throws {UnsealError}
   */
  abstract open(applicationId: string, sealed: string): string;
}
