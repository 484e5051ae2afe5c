import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { DomainError } from '../base/errors/domain-error.ts';
import { Standbys } from './standbys.ts';

const READS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Refuses changes while no commit would end, before they take a connection that reads need. A
 * commit that waits for a standby cannot be cancelled without breaking its promise, and its session
 * stays on the server until the standby is back.
 */
@Injectable()
export class StandbyGuard implements CanActivate {
  constructor(private readonly standbys: Standbys) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    if (READS.includes(context.switchToHttp().getRequest<Request>().method)) return true;
    const problem = await this.standbys.problem();
    if (problem === null) return true;
    throw new DomainError(
      'database.standby-missing',
      'unavailable',
      'The database cannot store changes at present; nothing was stored. Try again',
    );
  }
}
