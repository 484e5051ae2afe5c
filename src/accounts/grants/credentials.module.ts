import { Global, Module } from '@nestjs/common';
import { Credentials } from '../../platform/auth/credentials.ts';
import { SigningSecrets } from '../../platform/webhooks/signing-secrets.ts';
import { ApplicationSigningSecrets } from '../applications/application-secrets.ts';
import { StoredCredentials } from './stored-credentials.ts';
import { TokenUses } from './token-uses.ts';

/**
 * What the platform needs from accounts: the identity of callers, and the secrets that sign
 * webhooks. Global, because every module identifies callers.
 */
@Global()
@Module({
  providers: [
    TokenUses,
    { provide: Credentials, useClass: StoredCredentials },
    { provide: SigningSecrets, useClass: ApplicationSigningSecrets },
  ],
  exports: [Credentials, SigningSecrets],
})
export class CredentialsModule {}
