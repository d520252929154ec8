import KFNetwork
import KFStorage
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

@Suite("Uploads to a remote", .bounded, .serialized)
struct RemoteUploadsTests {
    private let layer = MemoryLayer()

    private func machine(_ name: String = "png/rgba.png") throws -> RemoteFixture {
        try RemoteFixture(layer, transport: try RemoteFixture.origin(name), writes: true)
    }

    private let transport = ManualTransport()
    private let downloader: ImageDownloader

    init() { downloader = ImageDownloader(ImageDownloader.Configuration(), transport: transport) }

    /// Adds so many uploads of an image that is on the disk. They differ in the names of their entries, and of their objects
    /// unless these are equal.
    private func add(
        _ count: Int, of machine: RemoteFixture, areEqual: Bool = false
    ) async throws -> RemoteUploads {
        let uploads = try #require(machine.cache.remotes?.uploads)
        let storage = try #require(try machine.cache.storage())
        let entry = try #require(try machine.entry())
        let file = StoredFile(entry, in: storage.directory)
        uploads.add(
            (0..<count).map { number in
                var entry = RemoteEntry(entry)
                entry.name = RemoteEntry.name(of: EntryKey(key: "http://h/upload-\(number)"))
                if !areEqual, let other = Digest(hex: entry.name) { entry.object = other }
                return RemoteUpload(entry, file, RemoteUpload.Terms(origin: (.machine, "http://h/")), to: uploads)
            }, from: downloader)
        return uploads
    }

    /// Stores one image without uploading it.
    private func stored(_ machine: RemoteFixture) async throws {
        layer.answer { _ in .busy(.zero) }
        _ = try await machine.get()
        await machine.drain()
        layer.answer { _ in nil }
    }

    @Test("The object is stored before its entry")
    func order() async throws {
        let machine = try machine()
        layer.hold { $0.label == "write cas" }
        _ = try await machine.get()
        #expect(await layer.holds(1))
        #expect(layer.count("write ac") == 0)
        layer.open()
        await machine.drain()
        #expect(layer.log == ["read ac", "write cas", "write ac"])
        #expect(machine.statistics.uploaded == 1)
    }

    @Test(
        "An entry is not stored without its object",
        arguments: [
            CacheLayerAnswer.failed("status 500"), .refused("status 403"), .refusedBlob("status 413"),
            .busy(.seconds(60)), .absent,
        ])
    func failedObject(_ answer: KFRemote.CacheLayerAnswer) async throws {
        layer.answer("write cas", answer)
        let machine = try machine()
        _ = try await machine.get()
        await machine.drain()
        #expect(layer.count("write ac") == 0)
        let isBusy = if case .busy = answer { true } else { false }
        var counts = RemoteCounts(misses: 1, errors: isBusy ? 0 : 1, dropped: 1)
        counts.retried = isBusy ? 1 : 0
        #expect(machine.statistics == counts)
    }

    @Test("Entries are replaced and objects are not")
    func replacing() async throws {
        let writes = SharedValue<[String: Bool]>([:])
        layer.answer { request in
            if case .write(_, let replaces) = request.operation {
                writes.change { $0[request.label] = replaces }
            }
            return nil
        }
        let machine = try machine()
        _ = try await machine.get()
        await machine.drain()
        #expect(writes.value == ["write cas": false, "write ac": true])
    }

    @Test("A large object is checked before it is sent")
    func large() async throws {
        let machine = try machine("png/rgb.png")
        _ = try await machine.get()
        await machine.drain()
        #expect(layer.log == ["read ac", "check cas", "write cas", "write ac"])
        let other = try self.machine("png/rgb.png")
        _ = try await other.get("http://h/b.png")
        await other.drain()
        #expect(layer.log.suffix(4) == ["read ac", "check cas", "read cas", "write ac"])
        #expect(other.statistics.uploaded == 1 && layer.objectCount == 1)
    }

    @Test("Equal objects are uploaded once")
    func equal() async throws {
        let machine = try machine()
        try await stored(machine)
        let before = layer.count("write cas")
        layer.hold { $0.label == "write cas" }
        _ = try await add(100, of: machine, areEqual: true)
        #expect(await layer.holds(1))
        await others()
        #expect(layer.held.count == 1)
        layer.open()
        await machine.drain()
        _ = try await machine.get("http://h/b.png")
        await machine.drain()
        #expect(layer.count("write cas") - before == 1 && layer.objectCount == 1)
        #expect(machine.statistics.uploaded == 101)
    }

    @Test("An equal object takes the place of a failed one")
    func equalAfterFailure() async throws {
        let machine = try machine()
        try await stored(machine)
        let answers = Mutex([CacheLayerAnswer.refusedBlob("status 413")])
        layer.answer { request in request.label == "write cas" ? answers.withLock { $0.popLast() } : nil }
        _ = try await add(10, of: machine, areEqual: true)
        await machine.drain()
        #expect(machine.statistics.uploaded == 9 && layer.entryCount == 9 && layer.objectCount == 1)
    }

    @Test("A locked blob is retried")
    func locked() async throws {
        let machine = try machine()
        try await stored(machine)
        let before = machine.statistics
        let locks = Mutex(["write cas": 3, "write ac": 2])
        layer.answer { request in
            locks.withLock { locks in
                guard let left = locks[request.label], left > 0 else { return nil }
                locks[request.label] = left - 1
                return .locked("status 423")
            }
        }
        _ = try await add(40, of: machine)
        await machine.drain()
        #expect(machine.statistics.uploaded == 40 && layer.entryCount == 40)
        #expect(machine.statistics.retried - before.retried == 5 && machine.statistics.errors == before.errors)
        #expect(machine.statistics.dropped == before.dropped)
    }

    @Test("A busy remote gets its uploads after its pause")
    func resumed() async throws {
        let machine = try machine()
        try await stored(machine)
        let answers = Mutex([CacheLayerAnswer.busy(.milliseconds(200))])
        layer.answer { request in request.label == "write cas" ? answers.withLock { $0.popLast() } : nil }
        let dropped = machine.statistics.dropped
        _ = try await add(40, of: machine)
        await machine.drain()
        #expect(machine.statistics.uploaded == 40 && machine.statistics.dropped == dropped)
    }

    @Test("The first writer replaces a wrong object", arguments: ["png/rgba.png", "png/rgb.png"])
    func wrong(name: String) async throws {
        let right = try ManagerFixture.fixture(name)
        let digest = right.withUnsafeBytes { SHA256.hash($0) }.hex
        let path = CacheLayerRequest.path(of: .object, digest)
        for wrong in [right.dropLast() + [1], Array(right.prefix(10)), right + right] {
            layer.blobs = [path: Array(wrong)]
            let machine = try machine(name)
            _ = try await machine.get()
            await machine.drain()
            #expect(layer.blobs[path] == right && machine.statistics.uploaded == 1)
        }
    }

    @Test("Dropped uploads are listed by URL")
    func listed() async throws {
        layer.answer("write cas", .refused("status 405"))
        let dropped = SharedValue<[String]>([])
        let machine = try RemoteFixture(
            layer, transport: try RemoteFixture.origin(), writes: true,
            caching: { $0.didDropUpload = { url in dropped.change { $0.append(url) } } })
        for number in 0..<3 { _ = try await machine.get("http://h/\(number).png?sig=1") }
        await machine.drain()
        #expect(dropped.value.sorted() == (0..<3).map { "http://h/\($0).png?sig=1" })
    }

    @Test("An unlimited wait ends when no upload moves")
    func unlimited() async throws {
        let machine = try RemoteFixture(
            layer, transport: try RemoteFixture.origin(), writes: true, caching: { $0.remoteWait = nil })
        layer.answer { $0.label == "write cas" ? .failed("status 500") : nil }
        for number in 0..<5 { _ = try await machine.get("http://h/\(number).png") }
        await machine.drain()
        #expect(machine.statistics.dropped == 5 && machine.cache.uploadProgress == nil)
    }

    @Test("An image with a too long entry is not uploaded")
    func longEntry() async throws {
        let body = try ManagerFixture.fixture("png/rgba.png")
        let long = String(repeating: "x", count: 8000)
        let machine = try RemoteFixture(
            layer,
            transport: ScriptedTransport(
                .init(
                    headers: [("ETag", "\"\(long)\""), ("Cache-Control", long), ("Vary", "a-\(long)")], body: body)),
            writes: true)
        _ = try await machine.get()
        await machine.drain()
        for (path, blob) in layer.blobs where path.hasPrefix("ac/") { #expect(blob.count <= RemoteEntry.longest) }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        _ = try await reader.get()
        #expect(reader.statistics.errors == 0)
    }

    @Test("At most 32 uploads run at once")
    func running() async throws {
        let machine = try machine()
        try await stored(machine)
        layer.hold { $0.label == "write cas" }
        _ = try await add(100, of: machine)
        #expect(await layer.holds(32))
        await others()
        #expect(layer.held.count == 32)
        layer.open()
        await machine.drain()
        #expect(machine.statistics.uploaded == 100 && layer.entryCount == 100)
    }

    @Test("At most 16384 uploads wait")
    func waiting() async throws {
        let machine = try machine()
        try await stored(machine)
        let before = machine.statistics.dropped
        layer.hold { $0.label == "write cas" }
        _ = try await add(16384, of: machine)
        #expect(await layer.holds(32))
        _ = try await add(100, of: machine)
        #expect(machine.statistics.dropped - before == 100 - 32)
        layer.answer("write cas", .refused("status 507"))
        layer.open()
        await machine.drain()
        #expect(machine.statistics.dropped - before == 16384 + 100 && machine.statistics.uploaded == 0)
    }

    @Test("Waiting uploads hold new downloads back")
    func pressed() async throws {
        let machine = try machine()
        try await stored(machine)
        let before = machine.statistics.dropped
        layer.hold { $0.label == "write cas" }
        _ = try await add(4096, of: machine)
        #expect(await layer.holds(32))
        #expect(transport.holds.isEmpty)
        _ = try await add(33, of: machine)
        #expect(transport.holds == [true])
        _ = try await add(10, of: machine)
        #expect(transport.holds == [true])
        layer.open()
        await machine.drain()
        #expect(transport.holds == [true, false])
        #expect(machine.statistics.dropped == before)
    }

    @Test("A remote that refuses uploads gets no more of them")
    func refused() async throws {
        let machine = try machine()
        try await stored(machine)
        let before = machine.statistics
        layer.hold { $0.label == "write cas" }
        _ = try await add(50, of: machine)
        #expect(await layer.holds(32))
        layer.answer("write cas", .refused("status 405"))
        layer.open()
        await machine.drain()
        #expect(machine.statistics.dropped - before.dropped == 50)
        #expect(layer.count("write cas") == 32 + 1 && layer.count("write ac") == 0)
        _ = try await add(7, of: machine)
        #expect(machine.statistics.dropped - before.dropped == 57)
        #expect(machine.notices.value.filter { $0.contains("gets no more uploads: status 405") }.count == 1)
        _ = try await machine.get("http://h/b.png")
        #expect(layer.count("read ac") == 2)
    }

    @Test("A long pause of a busy remote drops uploads")
    func busy() async throws {
        let machine = try machine()
        layer.answer("write cas", .busy(.seconds(3600)))
        for number in 0..<3 {
            _ = try await machine.get("http://h/\(number).png")
            await machine.drain()
        }
        #expect(layer.count("write cas") == 1 && layer.count("read ac") == 3)
        var counts = RemoteCounts(misses: 3, dropped: 3)
        counts.retried = 1
        #expect(machine.statistics == counts)
        let notice = "1 image was not uploaded to the remote memory: it takes none now"
        #expect(
            machine.notices.value == [
                "the remote memory gets no uploads for 3600 s, as it asks", notice, notice, notice,
            ])
    }

    @Test("The upload of an evicted image is dropped")
    func evicted() async throws {
        let machine = try machine()
        try await stored(machine)
        let uploads = try #require(machine.cache.remotes?.uploads)
        let storage = try #require(try machine.cache.storage())
        let file = StoredFile(try #require(try machine.entry()), in: storage.directory)
        _ = try storage.removeAll()
        let before = machine.statistics
        uploads.add(
            [RemoteUpload(RemoteEntry(file.entry), file, .init(origin: (.machine, "http://h/")), to: uploads)],
            from: downloader)
        await machine.drain()
        #expect(machine.statistics.dropped - before.dropped == 1 && machine.statistics.errors == before.errors)
        #expect(layer.entryCount == 0 && layer.objectCount == 0)
    }

    @Test("An image with many callers is uploaded once")
    func once() async throws {
        let machine = try machine()
        machine.transport.close()
        let tasks = (0..<10).map { _ in Task { try await machine.get() } }
        #expect(await eventually { machine.manager.downloader.work.waiterCount == 10 })
        machine.transport.open()
        for task in tasks { _ = try await task.value }
        await machine.drain()
        #expect(layer.count("write ac") == 1 && machine.statistics.uploaded == 1)
    }

    @Test("Without writesToRemote no image is uploaded")
    func readOnly() async throws {
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        _ = try await reader.get()
        await reader.cache.close()
        #expect(layer.log == ["read ac"] && reader.statistics == RemoteCounts(misses: 1))
        #expect(reader.cache.remotes?.uploads == nil)
    }

    // MARK: The end of a run

    @Test("Closing without uploads ends at once")
    func idle() async throws {
        let machine = try machine()
        await machine.cache.close()
        await machine.drain()
        #expect(machine.statistics == RemoteCounts() && layer.log.isEmpty)
    }

    @Test("Closing waits for the uploads in flight")
    func draining() async throws {
        let machine = try machine()
        layer.hold { $0.label == "write cas" }
        _ = try await machine.get()
        #expect(await layer.holds(1))
        let isOver = SharedValue(false)
        let end = Task {
            await machine.cache.close()
            isOver.value = true
        }
        await others(run: .milliseconds(50))
        #expect(!isOver.value)
        layer.open()
        await end.value
        #expect(machine.statistics.uploaded == 1 && machine.statistics.dropped == 0)
    }

    @Test("The wait for uploads can be cut short")
    func cutShort() async throws {
        let machine = try machine()
        try await stored(machine)
        let before = machine.statistics.dropped
        layer.hold { $0.label == "write cas" }
        let uploads = try await add(40, of: machine)
        #expect(await layer.holds(32))
        let end = Task { await machine.drain() }
        await others()
        uploads.endWaiting(within: .zero)
        await end.value
        #expect(machine.statistics.dropped - before == 40, "those that waited, and those in flight")
        // A later end does not wait either.
        await machine.drain()
        layer.open()
    }

    @Test("After the deadline the wait lasts at most a second")
    func deadline() async throws {
        let machine = try RemoteFixture(
            layer, transport: try RemoteFixture.origin(), writes: true, caching: { $0.lockDeadline = .now })
        layer.hold { $0.label == "write cas" }
        _ = try await machine.get()
        #expect(await layer.holds(1))
        await machine.drain()
        #expect(layer.held.count == 1 && machine.statistics.uploaded == 0)
        layer.open()
    }

    @Test("Closing waits for uploads of images stored late")
    func early() async throws {
        for _ in 0..<30 {
            let layer = MemoryLayer()
            let machine = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
            _ = try await machine.get { $0.waitForCache = false }
            await machine.manager.background.wait()
            await machine.cache.close()
            #expect(machine.statistics.uploaded == 1)
        }
    }
}
