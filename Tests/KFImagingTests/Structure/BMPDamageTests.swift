import Support
import Testing

@testable import KFImaging

@Suite("Damage to BMP and ICO files")
struct BMPDamageTests {
    /// Small files of every kind, each with the number of bytes at its end that may be missing.
    private func files() throws -> [(name: String, bytes: [UInt8], padding: Int)] {
        var dice = Dice(11)
        var files: [(String, [UInt8], Int)] = []
        for depth in [1, 2, 4, 8, 16, 24, 32] {
            let width = 9
            let padding = (4 - (width * depth + 7) / 8 % 4) % 4
            let file = BMPFile.random(header: depth == 4 ? 12 : 40, width, 3, depth: depth, &dice).file
            files.append(("bmp \(depth)", file.bytes, padding))
            // Without the whole mask nothing is missing, and with a part of it the last row's padding may be.
            files.append(
                ("ico \(depth)", Files.ico([(9, depth, file.icon(mask: [UInt8](repeating: 1, count: 12)))]), 2))
        }
        var masked = BMPFile(header: 124, width: 9, height: 3, depth: 16, compression: 3)
        masked.masks = [0xF00, 0xF0, 0xF, 0xF000]
        masked.data = (0..<60).map { UInt8($0 * 4) }
        files.append(("masks", masked.bytes, 2))
        masked.header = 40
        masked.compression = 6
        files.append(("alpha masks", masked.bytes, 2))
        let palette = BMPFile.palette(16, &dice)
        for (name, compression, depth, data) in [
            ("rle8", 1, 8, [5, 1, 0, 3, 1, 2, 3, 0, 0, 0, 8, 4, 0, 1]),
            ("rle4", 2, 4, [5, 0x12, 0, 3, 0x12, 0x30, 0, 0, 8, 0x44, 0, 1]),
        ] as [(String, Int, Int, [UInt8])] {
            let file = BMPFile(
                width: 8, height: 2, depth: depth, compression: compression, palette: palette, data: data)
            files.append((name, file.bytes, 2))
        }
        let rle24 = BMPFile(
            header: 64, width: 3, height: 2, depth: 24, compression: 4,
            data: [3, 1, 2, 3, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 1])
        files.append(("rle24", rle24.bytes, 3))
        let png = try ImageEncoder.encode(Image(Pictures.gradient(12, 9, .rgba)), as: .png)
        // Without its end chunk the PNG's pixels are whole.
        files.append(("ico png", Files.ico([(12, 32, png)]), 12))
        return files
    }

    private func result(_ bytes: [UInt8]) -> Result<[UInt8], ImagingError> {
        Result { () throws(ImagingError) in
            let options = DecodeOptions(limits: .init(maxPixels: 1 << 20, maxMemory: 64 << 20))
            return try ImageDecoder.decode(bytes, options: options).bitmap.rgba8
        }
    }

    private func isRefused(_ bytes: [UInt8]) -> Bool {
        bytes.withRaw { bytes in
            do throws(ImagingError) {
                try ImageProbe.checkStructure(bytes)
                return false
            } catch {
                return true
            }
        }
    }

    @Test("A truncated file is refused or shows the same") func prefixes() throws {
        for (name, bytes, padding) in try files() {
            let whole = try result(bytes).get()
            // Of an ICO the whole mask may be missing, and of 32 bits it is not looked at.
            let mask = name == "ico 32" ? bytes.count - 12 : name.hasPrefix("ico ") && name != "ico png" ? -12 : 0
            for length in 0..<bytes.count {
                let prefix = Array(bytes[..<length])
                let result = result(prefix)
                #expect(isRefused(prefix) == ((try? result.get()) == nil), "\(name) \(length)")
                if mask < 0, bytes.count + mask == length || isPadding(name, bytes.count - length) { continue }
                switch result {
                case .success(let pixels):
                    #expect(pixels == whole, "\(name) \(length)")
                    #expect(length >= bytes.count - padding || mask > 0 && length >= mask - 3, "\(name) \(length)")
                case .failure(.truncated), .failure(.corrupt), .failure(.notAnImage): break
                case .failure(let error): Issue.record("\(name) \(length): \(error)")
                }
            }
        }
    }

    /// Whether these bytes are the mask and no more of the rows than the padding of the last one.
    private func isPadding(_ name: String, _ missing: Int) -> Bool {
        guard let depth = Int(name.dropFirst(4)) else { return false }
        return missing > 12 && missing <= 12 + (4 - (9 * depth + 7) / 8 % 4) % 4
    }

    @Test("Bytes after the end are ignored") func appended() throws {
        for (name, bytes, _) in try files() where !name.hasPrefix("ico") {
            #expect(try result(bytes + Array("appended".utf8)).get() == result(bytes).get(), "\(name)")
        }
    }

    @Test("Random changes are decoded or refused") func random() throws {
        var dice = Dice(12)
        var decoded = 0
        for (name, bytes, _) in try files() {
            for _ in 0..<400 {
                var changed = bytes
                for _ in 0...dice.roll(4) {
                    let place = dice.roll(3) == 0 ? dice.roll(changed.count) : dice.roll(min(changed.count, 80))
                    changed[place] = [0, 1, 0x7F, 0x80, 0xFF, UInt8(dice.roll(256))][dice.roll(6)]
                }
                let result = result(changed)
                if case .success = result {
                    decoded += 1
                    // Of a PNG the decoder does not read the end chunk.
                    #expect(!isRefused(changed) || name == "ico png", "\(name)")
                }
            }
        }
        #expect(decoded > 1000)
    }
}
