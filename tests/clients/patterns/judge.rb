# Judges each case as Ruby does, in texts and in bytes: `ruby judge.rb cases.json`.
require 'json'

judged = 0
JSON.parse(File.read(ARGV[0], encoding: 'UTF-8')).each do |it|
  pattern, value = it.values_at('pattern', 'value')
  found = {
    text: Regexp.new(pattern).match?(value),
    bytes: Regexp.new(pattern.b, Regexp::NOENCODING).match?(value.b),
  }
  found.each do |mode, valid|
    judged += 1
    puts "#{mode} #{it}" unless valid == it['valid']
  end
end
puts "#{judged} judged"
