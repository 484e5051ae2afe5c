import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { type MeView, meView } from './admin-me.schema.ts';
import { CurrentOperator, OperatorAccess } from './operator-access.decorators.ts';
import type { OperatorPrincipal } from './operator-principal.ts';

@ApiTags('operators')
@OperatorAccess('read')
@Controller('admin/me')
export class AdminMeController {
  @Get()
  @Endpoint({ summary: 'Read the operator of the token', response: meView })
  get(@CurrentOperator() { operatorId, name, role }: OperatorPrincipal): MeView {
    return { id: operatorId, name, role };
  }
}
