import KFCore
