import { Module } from '@nestjs/common';
import { KeyGuard } from './key-guard.ts';

/** Checks the encryption keys of this process, and registers which keys each process has. */
@Module({ providers: [KeyGuard] })
export class KeysModule {}
