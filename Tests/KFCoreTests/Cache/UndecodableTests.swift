import Foundation
import Glibc
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Cached images that cannot be decoded", .bounded)
struct UndecodableTests {
    private let fixture: ManagerFixture
    private var manager: KingfisherManager { fixture.manager }
    private let good: [UInt8]

    init() throws {
        fixture = try ManagerFixture()
        good = try ManagerFixture.fixture("png/rgb.png")
    }

    /// Something that looks like a PNG and is none.
    private var broken: [UInt8] { Array(good.prefix(60)) }

    private func put(_ bytes: [UInt8], _ key: String, _ identifier: String = "") async throws {
        var facts = EntryFacts()
        facts.host = "local"
        facts.format = "png"
        facts.fileExtension = "png"
        let stored = try await manager.cache.storeOnDisk(
            .memory(bytes), EntryKey(key: key, identifier: identifier), facts)
        #expect(stored != nil)
    }

    @Test("A broken cached image is fetched again when its pixels are needed", arguments: [false, true])
    func hit(usesMemory: Bool) async throws {
        try await put(broken, "k")
        let provider = CountingProvider("k", good)
        let options = ManagerFixture.options { $0.memoryCacheExpiration = usesMemory ? nil : .expired }
        let result = try await manager.retrieveImage(with: .provider(provider), options: options)
        #expect(result.way == .disk)
        #expect(try await result.image() == ImageDecoder.decode(good))
        #expect(provider.count == 1)
        let again = try await manager.retrieveImage(with: .provider(provider), options: options)
        #expect(again.way == (usesMemory ? .memory : .disk))
        #expect(try await again.image() == ImageDecoder.decode(good))
        #expect(provider.count == 1)
    }

    @Test("An image that cannot be processed leaves no file open")
    func descriptors() async throws {
        func open() throws -> Int {
            let folder = fixture.directory.url.path
            return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
                return path?.hasPrefix(folder) == true && path?.contains("/objects/") == true
            }
        }
        for index in 0..<20 {
            try await put(broken, "k\(index)")
            let never = Source.provider(CountingProvider("k\(index)", broken))
            await #expect(throws: KingfisherError.self) {
                try await manager.retrieveImage(with: never, options: ManagerFixture.resized())
            }
        }
        let left = try open()
        #expect(left == 0, "\(left)")
    }

    @Test("A broken image is fetched again only once")
    func once() async throws {
        try await put(broken, "k")
        let never = CountingProvider("k", broken)
        let result = try await manager.retrieveImage(with: .provider(never), options: ManagerFixture.options())
        let error = await #expect(throws: KingfisherError.self) { try await result.image() }
        #expect(error?.errorCode == 4001)
        #expect(never.count == 1)
        #expect(try await manager.cache.imageCachedType(forKey: "k") == .none)
    }

    @Test("Under only-from-cache a broken image is a decoding error")
    func onlyFromCache() async throws {
        try await put(broken, "k")
        let provider = CountingProvider("k", good)
        let result = try await manager.retrieveImage(
            with: .provider(provider), options: ManagerFixture.options { $0.onlyFromCache = true })
        let error = await #expect(throws: KingfisherError.self) { try await result.image() }
        #expect(error?.errorCode == 4001)
        #expect(provider.count == 0)
    }

    @Test("An original that cannot be processed is removed")
    func original() async throws {
        try await put(broken, "k")
        let provider = CountingProvider("k", good)
        let result = try await manager.retrieveImage(
            with: .provider(provider), options: try ManagerFixture.resized { $0.waitForCache = true })
        #expect(result.way == .fetched && provider.count == 1)
        #expect(try await manager.cache.imageCachedType(forKey: "k") == .none)
    }

    @Test("A good image that exceeds a call's limits stays cached")
    func limits() async throws {
        try await put(good, "k")
        let provider = CountingProvider("k", good)
        for processed in [false, true] {
            var options = processed ? try ManagerFixture.resized() : ManagerFixture.options()
            options.decodeLimits.maxPixels = 1
            let error = await #expect(throws: KingfisherError.self) {
                try await manager.retrieveImage(with: .provider(provider), options: options).image()
            }
            #expect(error?.errorCode == 4001)
        }
        #expect(provider.count == 0)
        #expect(try await manager.cache.imageCachedType(forKey: "k") == .disk)
    }
}
