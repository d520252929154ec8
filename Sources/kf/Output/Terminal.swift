import Glibc
import KFCore
import Synchronization

/// Text on the way to a person or the next program.
enum Terminal {
    /// What went wrong with the results, as an errno; 0 while nothing has.
    private static let failure = Atomic<Int32>(0)

    /// Nobody gets the results any more: time to end.
    static var isClosed: Bool { failure.load(ordering: .relaxed) != 0 }

    /// Why results were lost, in words. The quiet end of a pipe is no loss.
    static var lostResults: String? {
        let code = failure.load(ordering: .relaxed)
        return code == 0 || code == EPIPE ? nil : String(cString: strerror(code))
    }

    /// Gives descriptors 0 to 2 a meaning when they came closed, so that no file opened later is taken for them. They
    /// are opened the wrong way round: using them is an error, as with a closed one.
    static func reserveStandardDescriptors() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", mode)
        }
    }

    /// Results.
    static func print(_ line: String) {
        let code = StatusLine.around(line + "\n", { write($0, to: STDOUT_FILENO) }, isOnStandardError: false)
        if code != 0 { failure.store(code, ordering: .relaxed) }
    }

    /// A question on stderr; the answer is typed on the same line.
    static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// A message, its beginning in colour where that is wanted.
    static func printError(_ line: String) {
        say(ColorChoice.isOn(STDERR_FILENO) ? ColorChoice.message(line) : line)
    }

    /// Why something was not done.
    static func printFailure(_ line: String) {
        say(ColorChoice.isOn(STDERR_FILENO) ? ColorChoice.failure(line) : line)
    }

    private static func say(_ line: String) {
        _ = StatusLine.around(line + "\n", { write($0, to: STDERR_FILENO) }, isOnStandardError: true)
    }

    /// Control characters become `\xNN`: a URL or a header is no way to drive somebody's terminal.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                let digits = String(RawText.byte(of: scalar).map(UInt32.init) ?? scalar.value, radix: 16)
                result += "\\x" + String(repeating: "0", count: max(0, 2 - digits.count)) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value)
            // Marks that turn the direction of writing can make one name look like another.
            || (0x202a...0x202e).contains(scalar.value) || RawText.byte(of: scalar) != nil
            || (0x2066...0x2069).contains(scalar.value)
    }

    /// 0, or the errno of what failed.
    @discardableResult
    private static func write(_ text: String, to descriptor: Int32) -> Int32 {
        guard RawText.isPlain(text) else {
            return RawText.bytes(text).withUnsafeBytes { write($0, to: descriptor) }
        }
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if count == 0 {
                return EIO
            } else if errno == EAGAIN {
                // Whoever shares the descriptor made it non-blocking.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
