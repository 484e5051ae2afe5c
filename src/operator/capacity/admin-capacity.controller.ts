import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { wireView } from '../../platform/wire/wire-view.ts';
import { OperatorAccess } from '../access/operator-access.decorators.ts';
import { capacityView } from './admin-capacity.schema.ts';
import { OperatorCapacity } from './operator-capacity.ts';

@ApiTags('capacity')
@OperatorAccess('read')
@Controller('admin/capacity')
export class AdminCapacityController {
  constructor(private readonly capacity: OperatorCapacity) {}

  @Get()
  @Endpoint({
    summary: 'Read sizes of tables, their growth, and how long the disk lasts',
    description: 'Rows are estimates of PostgreSQL; no table is read.',
    response: capacityView,
  })
  async read() {
    return wireView(await this.capacity.read());
  }
}
