/// Computes the ThumbHash of a small picture, equal in every byte to that of the reference implementation in JavaScript.
///
/// The picture is split into lightness, two differences of colours and alpha; the hash keeps the lowest frequencies of
/// each, four bits for each coefficient.
package struct ThumbHash {
    private let width: Int
    private let height: Int

    /// Returns the 5 to 25 bytes. Each coefficient visits every pixel: for 100 × 100 they take half a millisecond.
    package static func bytes(of bitmap: Bitmap) throws(ImagingError) -> [UInt8] {
        ThumbHash(width: bitmap.width, height: bitmap.height).bytes(try bitmap.expanded(to: .rgba))
    }

    /// The coefficients of a channel: the average, and the others as a share of their largest, from 0 to 1.
    private struct Channel {
        var average = 0.0
        var scale = 0.0
        var waves: [Double] = []
    }

    private func bytes(_ bitmap: Bitmap) -> [UInt8] {
        var pixels = bitmap.withUnsafeRows { rows in
            (0..<width * height).map { place in
                let pixel = rows.row(place / width) + 4 * (place % width)
                return SIMD4(Double(pixel[0]), Double(pixel[1]), Double(pixel[2]), Double(pixel[3]))
            }
        }
        var average = SIMD4<Double>.zero
        for pixel in pixels {
            let alpha = pixel.w / 255
            let share = alpha / 255
            average += SIMD4(share * pixel.x, share * pixel.y, share * pixel.z, alpha)
        }
        if average.w > 0 { average = SIMD4(average.x, average.y, average.z, 0) / average.w + SIMD4(0, 0, 0, average.w) }
        let hasAlpha = average.w < Double(width * height)
        // Transparent pixels show the average colour.
        for index in pixels.indices {
            let alpha = pixels[index].w / 255
            let behind = average * (1 - alpha)
            let share = alpha / 255
            let (red, green) = (behind.x + share * pixels[index].x, behind.y + share * pixels[index].y)
            let blue = behind.z + share * pixels[index].z
            pixels[index] = SIMD4((red + green + blue) / 3, (red + green) / 2 - blue, red - green, alpha)
        }
        let most = hasAlpha ? 5.0 : 7.0
        func waves(_ side: Int) -> Int { max(1, rounded(most * Double(side) / Double(max(width, height)))) }
        let (across, down) = (waves(width), waves(height))
        // A key path into a vector takes 50 ns a pixel.
        func plane(_ lane: Int) -> [Double] { pixels.map { $0[lane] } }
        let light = channel(plane(0), max(3, across), max(3, down))
        let (p, q) = (channel(plane(1), 3, 3), channel(plane(2), 3, 3))
        let alpha = hasAlpha ? channel(plane(3), 5, 5) : Channel()

        let isLandscape = width > height
        let colors =
            rounded(63 * light.average) | rounded(31.5 + 31.5 * p.average) << 6
            | rounded(31.5 + 31.5 * q.average) << 12 | rounded(31 * light.scale) << 18 | (hasAlpha ? 1 << 23 : 0)
        let scales =
            (isLandscape ? down : across) | rounded(63 * p.scale) << 3 | rounded(63 * q.scale) << 9
            | (isLandscape ? 1 << 15 : 0)
        var hash = [colors, colors >> 8, colors >> 16, scales, scales >> 8]
        if hasAlpha { hash.append(rounded(15 * alpha.average) | rounded(15 * alpha.scale) << 4) }
        let nibbles = (light.waves + p.waves + q.waves + alpha.waves).map { rounded(15 * $0) }
        for index in stride(from: 0, to: nibbles.count, by: 2) {
            hash.append(nibbles[index] | (index + 1 < nibbles.count ? nibbles[index + 1] << 4 : 0))
        }
        return hash.map { UInt8(truncatingIfNeeded: $0) }
    }

    /// The coefficients of a cosine transform below a diagonal.
    private func channel(_ samples: [Double], _ across: Int, _ down: Int) -> Channel {
        func cosines(_ wave: Int, _ side: Int) -> [Double] {
            (0..<side).map { PortableCosine.cosine(Double.pi / Double(side) * Double(wave) * (Double($0) + 0.5)) }
        }
        var result = Channel()
        for row in 0..<down {
            let vertical = cosines(row, height)
            var column = 0
            while column * down < across * (down - row) {
                let horizontal = cosines(column, width)
                var sum = 0.0
                for y in 0..<height {
                    // In the reference's order, so that the sums are the same in every bit.
                    for x in 0..<width { sum += samples[x + y * width] * horizontal[x] * vertical[y] }
                }
                sum /= Double(width * height)
                if row == 0, column == 0 {
                    result.average = sum
                } else {
                    result.waves.append(sum)
                    result.scale = max(result.scale, abs(sum))
                }
                column += 1
            }
        }
        if result.scale > 0 { result.waves = result.waves.map { 0.5 + 0.5 / result.scale * $0 } }
        return result
    }

    /// Halves go up, as in JavaScript.
    private func rounded(_ value: Double) -> Int { Int(clamping: (value + 0.5).rounded(.down)) }
}
