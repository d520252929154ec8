import Command
import Glibc

exit(KF.main())
