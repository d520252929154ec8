#pragma once

/// How often the process has allocated memory so far.
long allocations(void);
