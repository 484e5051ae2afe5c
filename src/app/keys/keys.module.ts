import { Module } from '@nestjs/common';
import { KeyGuard } from './key-guard.ts';

/** Whether the encryption keys of this process are right, and which ones every process knows. */
@Module({ providers: [KeyGuard] })
export class KeysModule {}
