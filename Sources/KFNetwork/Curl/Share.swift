import CCurl
import Glibc
import KFSystem

/// Data that the handles of one thread share: resolved names, and the cookies of a jar.
final class Share {
    let pointer: UnsafeMutableRawPointer
    private let cookieJar: String?

    /// Reads the cookie jar, a Netscape cookie file, if it exists. Throws `.engine` when the jar could not be written
    /// later, or memory is exhausted.
    init(cookieJar: String? = nil) throws(TransferError) {
        if let cookieJar { try Self.prepare(cookieJar) }
        guard let pointer = kf_share_new(cookieJar == nil ? 0 : 1) else { throw .engine(detail: "out of memory") }
        self.pointer = pointer
        self.cookieJar = cookieJar
        exchangeCookies(CURLOPT_COOKIEFILE, "RELOAD")
    }

    /// Writes the cookie jar. No handle uses the share any more.
    deinit {
        exchangeCookies(CURLOPT_COOKIEJAR, "FLUSH")
        kf_share_free(pointer)
    }

    /// Makes the jar if it does not exist, for its owner only. libcurl keeps that mode, and reports no failure when it
    /// writes: it makes a temporary file beside the jar and renames it.
    private static func prepare(_ path: String) throws(TransferError) {
        let file = path.withPath { open($0, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600) }
        guard file >= 0 else { throw .engine(detail: "cookie jar \(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        // libcurl would wait for a writer of a FIFO, and with it every transfer of the engine.
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .engine(detail: "cookie jar \(path): not a regular file")
        }
        try OptionFile.check(status, path, "cookie jar")
    }

    /// Gives a command to libcurl's cookie engine by a handle that makes no transfer.
    private func exchangeCookies(_ option: CURLoption, _ command: String) {
        guard let cookieJar, let handle = kf_easy_new() else { return }
        // Nothing can fail here but an allocation, and then the cookies are lost.
        _ = kf_easy_set_pointer(handle, CURLOPT_SHARE, pointer)
        // libcurl takes "-" for a standard stream.
        _ = (cookieJar == "-" ? "./-" : cookieJar).withPath { kf_easy_set_string(handle, option, $0) }
        _ = kf_easy_set_string(handle, CURLOPT_COOKIELIST, command)
        // Its end would write the jar once more.
        if option == CURLOPT_COOKIEJAR { _ = kf_easy_set_pointer(handle, option, nil) }
        kf_easy_free(handle)
    }
}

/// The shares of one I/O thread.
///
/// libcurl 7.88 walks its whole cache of names, which holds those of the last 60 s, at the end of every transfer: 10,000
/// transfers to 10,000 hosts spent a third of their time there. So a new share replaces one that 256 hosts use. A host
/// keeps its share while its name is known, so that each name is looked up once in that time. Transfers with a cookie jar
/// share names and cookies per jar.
final class Shares {
    /// The greatest number of hosts that share one DNS cache.
    static let hostsPerShare = 256

    /// The share for further hosts, with the number of its hosts.
    @exclusivity(unchecked) private var newest: (share: Share, hosts: Int)?
    @exclusivity(unchecked) private var jars: [String: Share] = [:]

    /// Returns the share for a transfer. `names` is the share of its host, which this function chooses if it is nil.
    func share(cookieJar: String?, names: inout Share?) throws(TransferError) -> Share {
        if let cookieJar {
            if let share = jars[cookieJar] { return share }
            let share = try Share(cookieJar: cookieJar)
            jars[cookieJar] = share
            return share
        }
        if let names { return names }
        let share: Share
        if let newest, newest.hosts < Self.hostsPerShare {
            share = newest.share
            self.newest = (share, newest.hosts + 1)
        } else {
            share = try Share()
            newest = (share, 1)
        }
        names = share
        return share
    }
}
