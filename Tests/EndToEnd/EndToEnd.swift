import Support
import Testing

/// The built binary against a real nginx.
@Suite("The command", .bounded, .ownThread)
enum EndToEnd {}

/// A suite whose tests each have a command with a home and a cache of its own.
class CommandSuite {
    let kf: KFCommand

    convenience init() throws { try self.init(KFCommand()) }

    init(_ kf: KFCommand) throws { self.kf = kf }
}

/// A suite whose tests each have a server of the fixtures, too.
class ServedSuite: CommandSuite {
    let server: FileServer

    override init(_ kf: KFCommand) throws {
        server = try FileServer()
        try super.init(kf)
    }
}

/// A suite of the same kind, whose command retries no request.
class UnretriedSuite: ServedSuite {
    convenience init() throws { try self.init(.withoutRetries()) }
}
