import Foundation

/// `posix_spawn`, with two of glibc's additions that Swift's Glibc module does not show.
struct SpawnActions {
    private var actions = posix_spawn_file_actions_t()

    private typealias CloseFrom = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
    private typealias ChangeDirectory = @convention(c) (UnsafeMutableRawPointer, UnsafePointer<CChar>) -> CInt

    /// The program starts in the package's folder, unless told otherwise. That of the tests is not always theirs: commands
    /// that are called in the process change it.
    init() {
        posix_spawn_file_actions_init(&actions)
        changeDirectory(PackageRoot.url.path)
    }

    mutating func destroy() { posix_spawn_file_actions_destroy(&actions) }

    mutating func open(_ descriptor: CInt, _ path: String, _ flags: CInt) {
        posix_spawn_file_actions_addopen(&actions, descriptor, path, flags, 0o600)
    }

    mutating func duplicate(_ from: CInt, _ to: CInt) {
        posix_spawn_file_actions_adddup2(&actions, from, to)
    }

    /// Without this a child would keep open what other tests, on other threads, are just opening.
    mutating func closeFrom(_ first: CInt) {
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
        _ = unsafeBitCast(symbol, to: CloseFrom.self)(&actions, first)
    }

    mutating func changeDirectory(_ path: String) {
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addchdir_np") else {
            preconditionFailure("glibc 2.29 or newer is needed")
        }
        _ = unsafeBitCast(symbol, to: ChangeDirectory.self)(&actions, path)
    }

    /// Starts a program, found in PATH when its name holds no slash, as the leader of a new process group and with
    /// every signal in its default state; with `session`, as the leader of a new session.
    mutating func spawn(
        _ program: String, _ arguments: [String], _ environment: [String: String], session: Bool = false
    ) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes,
            // Swift's Glibc module does not show POSIX_SPAWN_SETSID.
            Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) | (session ? 0x80 : Int16(POSIX_SPAWN_SETPGROUP)))
        var argv = ([program] + arguments).map { strdup($0) } + [nil]
        var envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var pid = pid_t()
        var error = ETXTBSY
        // A script that a test has just written is busy for as long as a child, which another test starts just then, holds
        // its descriptor: until that child's own exec.
        for _ in 0..<1000 where error == ETXTBSY {
            error = posix_spawnp(&pid, program, &actions, &attributes, &argv, &envp)
            if error == ETXTBSY { usleep(2000) }
        }
        guard error == 0 else {
            throw RunningCommand.Failure(description: "cannot start \(program): \(String(cString: strerror(error)))")
        }
        return pid
    }
}
