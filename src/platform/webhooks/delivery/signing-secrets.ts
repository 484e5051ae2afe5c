/**
 * Decrypts client secrets, which sign webhook deliveries. Implemented by the applications module,
 * which stores them.
 */
export abstract class SigningSecrets {
  /**
   * @param sealed the application's `secret_sealed` or `previous_secret_sealed`
   * @throws {UnsealError} if it cannot be decrypted
   */
  abstract decrypt(applicationId: string, sealed: string): string;
}
