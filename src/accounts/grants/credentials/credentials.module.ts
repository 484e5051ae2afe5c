import { Global, Module } from '@nestjs/common';
import { Credentials } from '../../../platform/auth/credentials.ts';
import { TokenOwners } from '../../../platform/refusals/token-owners.ts';
import { SigningSecrets } from '../../../platform/webhooks/secrets/signing-secrets.ts';
import { ApplicationSigningSecrets } from '../../applications/application-secrets.ts';
import { StoredCredentials } from './stored-credentials.ts';
import { StoredTokenOwners } from './stored-token-owners.ts';
import { TokenUses } from '../tokens/token-uses.ts';

/**
 * What the platform needs from accounts: the identity of callers, whose a refused token was, and
 * the secrets that sign webhooks. Global, because every module identifies callers.
 */
@Global()
@Module({
  providers: [
    TokenUses,
    { provide: Credentials, useClass: StoredCredentials },
    { provide: TokenOwners, useClass: StoredTokenOwners },
    { provide: SigningSecrets, useClass: ApplicationSigningSecrets },
  ],
  exports: [Credentials, SigningSecrets, TokenOwners],
})
export class CredentialsModule {}
