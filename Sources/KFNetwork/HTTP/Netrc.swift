import Glibc
import KFSystem

/// The netrc files of an engine, read as libcurl reads them. Confined to the I/O thread.
struct NetrcFiles {
    private var known: [String: (stamp: [Int64], bytes: [UInt8])] = [:]

    /// Returns the user and the password for a host, those of `user` if that is not nil; nil if the file has none, or
    /// cannot be read.
    mutating func credentials(in path: String, of origin: Origin, user: String?) throws(TransferError) -> Credentials? {
        let zone = origin.host.firstIndex(of: "%")
        var search = NetrcSearch(host: zone.map { "\(origin.host[..<$0])]" } ?? origin.host, user: user)
        for line in try bytes(of: path).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if try search.hasEnded(with: line, path) { break }
        }
        return search.result
    }

    /// Reads the file again only if it has changed. A pipe is read once: it has its content only once.
    private mutating func bytes(of path: String) throws(TransferError) -> [UInt8] {
        var status = stat()
        guard path.withPath({ stat($0, &status) }) == 0 else { return [] }
        try OptionFile.check(status, path, "netrc file")
        let (size, inode, time) = (status.st_size, status.st_ino, status.st_mtim)
        let stamp = [Int64(size), Int64(truncatingIfNeeded: inode), Int64(time.tv_sec), Int64(time.tv_nsec)]
        if let found = known[path], found.stamp == stamp || status.st_mode & S_IFMT == S_IFIFO { return found.bytes }
        guard let file = path.withPath({ fopen($0, "re") }) else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&block, 1, 4096, file), count > 0 { bytes += block[..<count] }
        guard ferror(file) == 0 else { return [] }
        known[path] = (stamp, bytes)
        return bytes
    }
}

/// A search for one host in the words of a netrc file.
private struct NetrcSearch {
    private enum State { case nothing, macro, machine, entry, login, password }

    private let host: String
    private let user: String?
    private var login: String?
    private var password: String?
    private var state = State.nothing
    /// Whether the login of the present entry is `user`.
    private var isOfUser: Bool
    private var hasHost = false

    init(host: String, user: String?) {
        (self.host, self.user, login, isOfUser) = (host, user, user, user == nil)
    }

    var result: Credentials? {
        guard hasHost, login != nil || password != nil else { return nil }
        return Credentials(user: login ?? "", password: password ?? "")
    }

    /// Reads a line. Returns whether the password is known.
    mutating func hasEnded(with line: ArraySlice<UInt8>, _ path: String) throws(TransferError) -> Bool {
        if state == .macro {
            // An empty line ends a macro.
            guard line.isEmpty || line.first == 0x0d else { return false }
            state = .nothing
        }
        for word in try Self.words(line, path) {
            if login?.isEmpty == false, password?.isEmpty == false { return true }
            read(word)
        }
        return false
    }

    private mutating func read(_ word: String) {
        switch (state, word.lowercased()) {
        case (.machine, _):
            let isHost = (try? HostName.normal(word)) == host
            (state, hasHost) = (isHost ? .entry : .nothing, hasHost || isHost)
        case (.login, _):
            if user == nil { login = word } else { isOfUser = word == user }
            state = .entry
        case (.password, _):
            if isOfUser { password = word }
            state = .entry
        case (.entry, "login"): state = .login
        case (.entry, "password"): state = .password
        case (.entry, "machine"), (.nothing, "machine"): (state, isOfUser) = (.machine, user == nil)
        case (.nothing, "default"): (state, hasHost) = (.entry, true)
        case (.nothing, "macdef"): state = .macro
        default: break
        }
    }

    /// Returns the words of a line: between blanks, or in quotes with the escapes of C. `#` begins a comment.
    private static func words(_ line: ArraySlice<UInt8>, _ path: String) throws(TransferError) -> [String] {
        var (words, rest): ([String], ArraySlice<UInt8>) = ([], line.trimmed)
        while let first = rest.first, first != UInt8(ascii: "#") {
            var word: [UInt8] = []
            if first == UInt8(ascii: "\"") {
                rest.removeFirst()
                while let byte = rest.first, byte != UInt8(ascii: "\"") {
                    rest.removeFirst()
                    word.append(byte == UInt8(ascii: "\\") ? try escaped(rest.popFirst(), path) : byte)
                }
                guard rest.popFirst() != nil else { throw unended(path) }
            } else {
                word += rest.prefix { !$0.isBlank }
                rest = rest.dropFirst(word.count)
            }
            words.append(RawText.decode(word))
            rest = rest.trimmed
        }
        return words
    }

    private static func escaped(_ byte: UInt8?, _ path: String) throws(TransferError) -> UInt8 {
        guard let byte else { throw unended(path) }
        return [UInt8(ascii: "n"): 0x0a, UInt8(ascii: "r"): 0x0d, UInt8(ascii: "t"): 0x09][byte] ?? byte
    }

    private static func unended(_ path: String) -> TransferError {
        .engine(detail: "netrc file \(path): a quote does not end")
    }
}
